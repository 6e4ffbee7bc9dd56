/* Search without a server. From a file: address browsers start no Worker, so the one of the search
   runs in a hidden frame instead, and hears and says the same. */
"use strict";

if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.loaded = new Promise((resolve) => {
        const script = frame.contentDocument.createElement("script");
        script.src = url;
        script.onload = resolve;
        frame.contentDocument.body.append(script);
      });
    }

    postMessage(data) {
      this.loaded.then(() =>
        this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data })),
      );
    }
  };
}
