from .table import Row, T

ROWS = [
    Row("Dropout", inputs=[T(3, 4)], train=(False,)),
    Row("Dropout", 0.3, inplace=True, inputs=[T(3, 4)], train=(False,)),
    Row("Dropout", p=0.0, inputs=[T(3, 4)]),
    Row("Dropout", 1.0, inputs=[T(3, 4)]),
    Row("Dropout1d", inputs=[T(2, 3, 4)], train=(False,)),
    Row("Dropout1d", 0.0, inputs=[T(3, 4)]),
    Row("Dropout2d", inputs=[T(2, 3, 2, 2)], train=(False,)),
    Row("Dropout2d", 0.0, inputs=[T(2, 3, 2, 2)]),
    Row("Dropout2d", 1.0, inputs=[T(2, 3, 2, 2)]),
    Row("Dropout3d", inputs=[T(2, 3, 2, 2, 2)], train=(False,)),
    Row("Dropout3d", 0.0, inputs=[T(3, 2, 2, 2)]),
    Row("AlphaDropout", 0.2, inputs=[T(3, 4)], train=(False,)),
    Row("AlphaDropout", 0.0, inputs=[T(3, 4)]),
    Row("FeatureAlphaDropout", 0.2, inputs=[T(2, 3, 4)], train=(False,)),
    Row("FeatureAlphaDropout", 0.0, inputs=[T(2, 3, 4)]),
]
