"""Reinforcement learning: a DQN with replay memory, actor-critic, and PPO on a small walk."""

import math
import random
from collections import deque, namedtuple
from itertools import count

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical, Normal

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
SavedAction = namedtuple("SavedAction", ["log_prob", "value"])
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Walk:
    """A point on a line is to reach 1."""

    def reset(self):
        self.x, self.t = np.float32(0.0), 0
        return np.array([self.x, self.t / 10, math.sin(self.t)], dtype=np.float32), {}

    def step(self, action):
        self.x, self.t = self.x + np.float32(0.25 * (2 * action - 1)), self.t + 1
        state = np.array([self.x, self.t / 10, math.sin(self.t)], dtype=np.float32)
        terminated, truncated = bool(self.x >= 1), self.t >= 12
        return state, float(terminated) - 0.01, terminated, truncated, {}


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


class Policy(nn.Module):
    """Actor and critic in one model."""

    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(3, 16)
        self.action_head = nn.Linear(16, 2)
        self.value_head = nn.Linear(16, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        action_prob = F.softmax(self.action_head(x), dim=-1)
        state_values = self.value_head(x)
        return action_prob, state_values


class Gaussian(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
        self.critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        self.log_std = nn.Parameter(torch.ones(1, 2) * -0.5)
        for layer in self.actor:
            if isinstance(layer, nn.Linear):
                torch.nn.init.orthogonal_(layer.weight, np.sqrt(2))
                torch.nn.init.constant_(layer.bias, 0.0)

    def get_action_and_value(self, x, action):
        action_mean = self.actor(x)
        action_std = torch.exp(self.log_std.expand_as(action_mean))
        probs = Normal(action_mean, action_std)
        return probs.log_prob(action).sum(1), probs.entropy().sum(1), self.critic(x)


def make():
    return {"policy_net": DQN(3, 2), "target_net": DQN(3, 2), "policy": Policy(), "ppo": Gaussian()}


def train(models, folder):
    random.seed(0)
    return [
        train_dqn(models["policy_net"].to(device), models["target_net"].to(device)),
        train_actor_critic(models["policy"]),
        train_ppo(models["ppo"]),
    ]


def train_dqn(policy_net, target_net):
    target_net.load_state_dict(policy_net.state_dict())
    target_net.eval()
    optimizer = optim.AdamW(policy_net.parameters(), lr=1e-2, amsgrad=True)
    memory, env, steps_done, losses = ReplayMemory(100), Walk(), 0, []
    BATCH_SIZE, GAMMA, TAU = 8, 0.99, 0.05

    def select_action(state):
        nonlocal steps_done
        eps_threshold = 0.05 + 0.85 * math.exp(-1.0 * steps_done / 20)
        steps_done += 1
        if random.random() > eps_threshold:
            with torch.no_grad():
                return policy_net(state).max(1).indices.view(1, 1)
        return torch.tensor([[random.randrange(2)]], device=device, dtype=torch.long)

    def optimize_model():
        if len(memory) < BATCH_SIZE:
            return
        batch = Transition(*zip(*memory.sample(BATCH_SIZE)))
        non_final_mask = torch.tensor(
            tuple(map(lambda s: s is not None, batch.next_state)), device=device, dtype=torch.bool
        )
        non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
        state_batch = torch.cat(batch.state)
        action_batch = torch.cat(batch.action)
        reward_batch = torch.cat(batch.reward)
        state_action_values = policy_net(state_batch).gather(1, action_batch)
        next_state_values = torch.zeros(BATCH_SIZE, device=device)
        with torch.no_grad():
            next_state_values[non_final_mask] = target_net(non_final_next_states).max(1).values
        expected_state_action_values = (next_state_values * GAMMA) + reward_batch
        criterion = nn.SmoothL1Loss()
        loss = criterion(state_action_values, expected_state_action_values.unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
        optimizer.step()
        losses.append(loss.item())

    for i_episode in range(3):
        state, info = env.reset()
        state = torch.tensor(state, dtype=torch.float32, device=device).unsqueeze(0)
        for t in count():
            action = select_action(state)
            observation, reward, terminated, truncated, _ = env.step(action.item())
            reward = torch.tensor([reward], device=device)
            next_state = None
            if not terminated:
                next_state = torch.tensor(observation, dtype=torch.float32).unsqueeze(0)
            memory.push(state, action, next_state, reward)
            state = next_state
            optimize_model()
            target_net_state_dict = target_net.state_dict()
            policy_net_state_dict = policy_net.state_dict()
            for key in policy_net_state_dict:
                target_net_state_dict[key] = policy_net_state_dict[
                    key
                ] * TAU + target_net_state_dict[key] * (1 - TAU)
            target_net.load_state_dict(target_net_state_dict)
            if terminated or truncated:
                break
    for target, source in zip(target_net.parameters(), policy_net.parameters()):
        target.data.copy_(TAU * source.data + (1.0 - TAU) * target.data)
    return losses


def train_actor_critic(model):
    optimizer = optim.Adam(model.parameters(), lr=3e-2)
    eps = np.finfo(np.float32).eps.item()
    history = []
    for i_episode in range(3):
        state, _ = Walk().reset()
        env, actions = Walk(), []
        env.reset()
        for t in range(1, 15):
            state = torch.from_numpy(state).float()
            probs, state_value = model(state)
            m = Categorical(probs)
            action = torch.tensor((i_episode + t) % 3 > 0, dtype=torch.long)
            model.saved_actions.append(SavedAction(m.log_prob(action), state_value))
            state, reward, terminated, truncated, _ = env.step(action.item())
            model.rewards.append(reward)
            actions.append(m.entropy().item())
            if terminated or truncated:
                break
        R, returns, policy_losses, value_losses = 0, [], [], []
        for r in model.rewards[::-1]:
            R = r + 0.99 * R
            returns.insert(0, R)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + eps)
        for (log_prob, value), R in zip(model.saved_actions, returns):
            advantage = R - value.item()
            policy_losses.append(-log_prob * advantage)
            value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
        optimizer.zero_grad()
        loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
        loss.backward()
        optimizer.step()
        history.append([loss.item(), actions])
        del model.rewards[:]
        del model.saved_actions[:]
    return history


def train_ppo(agent):
    optimizer = optim.Adam(agent.parameters(), lr=1e-2, eps=1e-5)
    steps, gamma, gae_lambda, clip_coef = 8, 0.99, 0.95, 0.2
    obs, actions = torch.randn(steps, 3), torch.randn(steps, 2)
    rewards, dones = torch.randn(steps), torch.zeros(steps)
    dones[3] = 1
    with torch.no_grad():
        logprobs, _, values = agent.get_action_and_value(obs, actions)
        values = values.flatten()
        advantages = torch.zeros_like(rewards).to(device)
        lastgaelam = 0
        for t in reversed(range(steps - 1)):
            nextnonterminal = 1.0 - dones[t + 1]
            delta = rewards[t] + gamma * values[t + 1] * nextnonterminal - values[t]
            advantages[t] = lastgaelam = delta + gamma * gae_lambda * nextnonterminal * lastgaelam
        returns = advantages + values
    b_inds, clipfracs = np.arange(steps), []
    for epoch in range(3):
        for start in range(0, steps, 4):
            mb_inds = b_inds[start : start + 4]
            newlogprob, entropy, newvalue = agent.get_action_and_value(
                obs[mb_inds], actions[mb_inds]
            )
            logratio = newlogprob - logprobs[mb_inds]
            ratio = logratio.exp()
            with torch.no_grad():
                approx_kl = ((ratio - 1) - logratio).mean()
                clipfracs += [((ratio - 1.0).abs() > clip_coef).float().mean().item()]
            mb_advantages = advantages[mb_inds]
            mb_advantages = (mb_advantages - mb_advantages.mean()) / (mb_advantages.std() + 1e-8)
            pg_loss1 = -mb_advantages * ratio
            pg_loss2 = -mb_advantages * torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)
            pg_loss = torch.max(pg_loss1, pg_loss2).mean()
            v_loss = 0.5 * ((newvalue.view(-1) - returns[mb_inds]) ** 2).mean()
            loss = pg_loss - 0.01 * entropy.mean() + v_loss * 0.5
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    y_pred, y_true = values.cpu().numpy(), returns.cpu().numpy()
    var_y = np.var(y_true)
    explained_var = np.nan if var_y == 0 else 1 - np.var(y_true - y_pred) / var_y
    return [loss.item(), approx_kl, clipfracs, float(explained_var)]
