"""Q-learning with a replay memory and a target network, and a critic of two heads."""

import copy
import math
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class ReplayMemory(object):
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super(DQN, self).__init__()
        self.layer1 = nn.Linear(n_observations, 16)
        self.layer2 = nn.Linear(16, 16)
        self.layer3 = nn.Linear(16, n_actions)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        x = F.relu(self.layer2(x))
        return self.layer3(x)


class Dueling(nn.Module):
    def __init__(self, n_observations, n_actions):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(n_observations, 12), nn.Hardswish())
        self.value = nn.Linear(12, 1)
        self.advantage = nn.Linear(12, n_actions)

    def forward(self, x):
        x = self.features(x)
        advantage = self.advantage(x)
        return self.value(x) + advantage - advantage.mean(dim=-1, keepdim=True)


class Corridor:
    """Walk left or right; the end pays."""

    def __init__(self, n=6):
        self.n = n

    def reset(self):
        self.at = self.n // 2
        return [self.at / self.n, 1.0]

    def step(self, action):
        self.at += 1 if action == 1 else -1
        done = self.at in (0, self.n)
        return [self.at / self.n, 1.0], float(self.at == self.n), done


def make():
    return {"dqn": DQN(2, 2), "dueling": Dueling(2, 2)}


def train(models, folder):
    random.seed(0)
    env, results = Corridor(), []
    BATCH_SIZE, GAMMA, EPS_START, EPS_END, EPS_DECAY, TAU = 8, 0.99, 0.9, 0.05, 30, 0.005
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    for name in ("dqn", "dueling"):
        policy_net = models[name].to(device)
        target_net = copy.deepcopy(policy_net)
        optimizer = optim.AdamW(policy_net.parameters(), lr=1e-3, amsgrad=True)
        memory, steps_done = ReplayMemory(100), 0
        for i_episode in range(4):
            state = torch.tensor(env.reset(), dtype=torch.float32, device=device).unsqueeze(0)
            for t in range(12):
                eps = EPS_END + (EPS_START - EPS_END) * math.exp(-1.0 * steps_done / EPS_DECAY)
                steps_done += 1
                if random.random() > eps:
                    with torch.no_grad():
                        action = policy_net(state).max(1).indices.view(1, 1)
                else:
                    action = torch.tensor([[random.randrange(2)]], device=device, dtype=torch.long)
                observation, reward, done = env.step(action.item())
                reward = torch.tensor([reward], device=device)
                next_state = None if done else torch.tensor(observation).unsqueeze(0)
                memory.push(state, action, next_state, reward)
                state = next_state
                if len(memory) >= BATCH_SIZE:
                    batch = Transition(*zip(*memory.sample(BATCH_SIZE)))
                    mask = torch.tensor(tuple(map(lambda s: s is not None, batch.next_state)),
                                        device=device, dtype=torch.bool)  # fmt: skip
                    state_batch = torch.cat(batch.state)
                    q = policy_net(state_batch).gather(1, torch.cat(batch.action))
                    next_values = torch.zeros(BATCH_SIZE, device=device)
                    with torch.no_grad():
                        next_states = torch.cat([s for s in batch.next_state if s is not None])
                        next_values[mask] = target_net(next_states).max(1).values
                    expected = (next_values * GAMMA) + torch.cat(batch.reward)
                    loss = nn.SmoothL1Loss()(q, expected.unsqueeze(1))
                    optimizer.zero_grad()
                    loss.backward()
                    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
                    optimizer.step()
                    results.append(loss.item())
                    target_dict, policy_dict = target_net.state_dict(), policy_net.state_dict()
                    for key in policy_dict:
                        target_dict[key] = policy_dict[key] * TAU + target_dict[key] * (1 - TAU)
                    target_net.load_state_dict(target_dict)
                if done:
                    break
        results.append(policy_net(torch.tensor([[0.5, 1.0]])))
    return results
