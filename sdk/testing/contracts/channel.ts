/** Contract suite of a channel: accounts, addresses, runs that start, break and end, and sending. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { GatewayError, isGatewayError } from "../../gateway-error.ts";
import type { InboundMessage } from "../../channels/inbound.ts";
import type { Channel, ChannelAccount, ChannelReport, ChannelRun } from "../../channels/service.ts";
import { abilities, type ChannelEvidence } from "./channel-abilities.ts";
import { accountStateInMemory } from "../account-state.ts";
import { startLeakCheck } from "../leak-check.ts";
import { type ContractContext, inTime, outcomeOf, PATIENCE_MS } from "./context.ts";

/** The remote network as simulated by the test: someone writes messages, and sent messages arrive. */
export interface ChannelNetwork {
  /** Someone sends this text to the running account. */
  says(text: string): void | Promise<void>;
  /** Texts that have reached the network so far, oldest first. */
  heard(): readonly string[];
  /** Delivers the last message again, as networks do. Absent: this network never does. */
  repeats?(): void | Promise<void>;
  /** Cuts the connection of the running account; it can be established again. */
  cuts?(): void | Promise<void>;
  /**
   * What arrived beside texts: the suite checks every declared capability. `unobserved`: this network does not show it; test the
   * capabilities with another one. Default: nothing arrived, so the suite fails if a capability is declared.
   */
  readonly evidence?: ChannelEvidence | "unobserved";
}

/** `fetch` keeps the connection of a request that was aborted early for 4 seconds. */
const IDLE_MS = 6_000;

/** Options of `channelContract`. */
export interface ChannelContractOptions {
  /** The contributed channel; obtain it from its plugin with `contributionOf`. */
  readonly channel: Channel;
  readonly network: ChannelNetwork;
  /** Account to run. Default: the first one. */
  readonly accountId?: string;
  /** Addresses as people write them; messages are sent to the first. */
  readonly targets: readonly string[];
  /** Texts that are not addresses of this channel, in addition to obvious ones. */
  readonly garbage?: readonly string[];
  /** Milliseconds allowed for steps such as connecting. Default 5000. */
  readonly patienceMs?: number;
}

const GARBAGE = ["", " ", "\n", "\u0000", "no such place, nowhere at all"];
const STEP_MS = 10;

type Scene = Required<Pick<ChannelContractOptions, "channel" | "network" | "targets" | "patienceMs">> & {
  readonly account: ChannelAccount;
  readonly openState: ChannelRun["openState"];
};

/** Registers subtests; some run the account against the network, one at a time. */
export async function channelContract(t: ContractContext, options: ChannelContractOptions): Promise<void> {
  const { channel, accountId, network, targets, garbage = [], patienceMs = PATIENCE_MS } = options;
  const leaks = startLeakCheck();
  const account = channel.accounts.find(({ id }) => accountId === undefined || id === accountId);
  if (!account) throw new Error(`the channel has no account ${accountId ?? ""}; pass a config with one`);
  const scene: Scene = { channel, network, targets, patienceMs, account, openState: accountStateInMemory() };
  await t.test("describes itself with plain data", async () => expectFacts(channel));
  await t.test("normalizes addresses and rejects garbage", () =>
    expectTargets(channel, targets, [...GARBAGE, ...garbage]),
  );
  await runs(t, scene);
  await sends(t, scene);
  const { evidence = {} } = network;
  if (evidence !== "unobserved") {
    const wait = (holds: () => boolean, otherwise: string) => until(holds, patienceMs, otherwise);
    const during = (work: () => Promise<void>) => running(scene, () => work());
    await abilities(t, { channel, account, targets, evidence, running: during, until: wait });
  }
  await t.test("leaves nothing open", () => leaks.expectNone(IDLE_MS));
}

async function expectFacts({ label, capabilities, accounts }: Channel): Promise<void> {
  const { chats, maxTextChars } = capabilities;
  assert.notEqual(label.trim(), "", "label must not be blank; it is shown to people");
  assert.ok(
    chats.length > 0 && chats.every((chat) => chat === "direct" || chat === "group"),
    "chats must list direct, group or both",
  );
  assert.ok(Number.isInteger(maxTextChars) && maxTextChars > 0, "maxTextChars must be a positive integer");
  assert.deepEqual(
    structuredClone(accounts),
    accounts,
    "accounts must be plain data: no functions, no class instances",
  );
  const ids = accounts.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length, `two accounts share an id: ${ids.join(", ")}`);
}

async function expectTargets(channel: Channel, targets: readonly string[], garbage: readonly string[]): Promise<void> {
  assert.ok(targets.length > 0, "pass at least one address as a person writes it");
  for (const text of targets) {
    const address = await channel.target(text);
    if (address === undefined) return assert.fail(`target("${text}") must be an address`);
    assert.equal(await channel.target(address), address, `target must return its own result "${address}" unchanged`);
  }
  for (const text of garbage)
    assert.equal(await channel.target(text), undefined, `target(${JSON.stringify(text)}) must not be an address`);
}

async function runs(t: ContractContext, scene: Scene): Promise<void> {
  const { network, channel } = scene;
  await t.test("ends at once if it was stopped before the start", async () => {
    const stopped = start(scene, AbortSignal.abort());
    await inTime(stopped.ended, scene.patienceMs, "run must end when its signal has aborted");
  });

  await t.test("connects, submits messages, and ends on abort", async () => {
    const leaks = startLeakCheck();
    await running(scene, async (run) => {
      await network.says("hello from the contract");
      const [message] = await run.received(1);
      assert.equal(message?.text, "hello from the contract");
      assert.ok(message.sender.id, "sender.id must identify the sender");
      assert.ok(message.chat.id, "chat.id must be the address for replies");
      assert.ok(
        channel.capabilities.chats.includes(message.chat.type),
        `the message is from a ${message.chat.type} chat, which its capabilities do not list`,
      );
    });
    await leaks.expectNone();
  });

  await t.test("gives each message a unique, stable id", async () => {
    await running(scene, async (run) => {
      await network.says("first");
      await network.says("second");
      const [first, second] = await run.received(2);
      if (first?.id !== undefined) assert.notEqual(first.id, second?.id, "two messages must have different ids");
      if (!network.repeats) return;
      await network.repeats();
      const [, , again] = await run.received(3);
      assert.ok(
        again?.id !== undefined && again.id === second?.id,
        "a repeated message must keep its id, so that it is accepted only once",
      );
    });
  });

  await t.test("continues, or ends and can be run again, when a message was not accepted", async () => {
    let refusals = 0;
    const refuse = () => {
      if (refusals++ === 0) throw new GatewayError("UNAVAILABLE", "the contract refuses the first message");
    };
    const controller = new AbortController();
    const run = start(scene, controller.signal, refuse);
    await run.connected();
    await network.says("refused");
    await until(() => refusals > 0, scene.patienceMs, "the message was not submitted");
    await Promise.race([run.ended, pause(STEP_MS)]);
    if (!run.isOver()) {
      await network.says("taken");
      await run.until((messages) => messages.some(({ text }) => text === "taken"));
    }
    controller.abort();
    await inTime(run.ended, scene.patienceMs, "run must end when its signal aborts");
    await running(scene, async (next) => {
      await network.says("taken by the next run");
      await next.until((messages) => messages.some(({ text }) => text === "taken by the next run"));
    });
  });

  if (!network.cuts) return;
  await t.test("ends or reconnects when the connection is cut", async () => {
    await running(scene, async (run) => {
      await network.cuts?.();
      await until(
        () => run.isOver() || run.isAway(),
        scene.patienceMs,
        "run must end or report disconnected when its connection is lost",
      );
    });
    await running(scene, async (run) => {
      await network.says("after the cut");
      await run.until((messages) => messages.some(({ text }) => text === "after the cut"));
    });
  });
}

async function sends(t: ContractContext, scene: Scene): Promise<void> {
  const { channel, network, account, targets } = scene;
  const send = async (text: string, to: string, signal = new AbortController().signal) =>
    channel.send({
      accountId: account.id,
      settings: account.settings,
      id: randomBytes(16).toString("hex"),
      to,
      text,
      signal,
    });
  const arrives = (text: string) =>
    until(() => network.heard().includes(text), scene.patienceMs, "the sent text never reached the network");

  await t.test("sends to an address, to a sender, and texts of the maximum length", async () => {
    await running(scene, async (run) => {
      const to = (await channel.target(targets[0] ?? "")) ?? "";
      await send("to an address", to);
      await arrives("to an address");
      await network.says("answer me");
      const chat = (await run.received(1)).at(-1)?.chat;
      await send("an answer", chat?.id ?? "");
      await arrives("an answer");
      const longest = "x".repeat(channel.capabilities.maxTextChars);
      await send(longest, to);
      await arrives(longest);
    });
  });

  await t.test("sends nothing after an abort", async () => {
    await running(scene, async () => {
      const to = (await channel.target(targets[0] ?? "")) ?? "";
      const outcome = await inTime(
        outcomeOf(send("never sent", to, AbortSignal.abort())),
        scene.patienceMs,
        "send must end on abort",
      );
      assert.ok("error" in outcome, "send must fail when its signal has aborted");
      assert.ok(!network.heard().includes("never sent"), "the text was sent nevertheless");
    });
  });

  await t.test("fails with an error that tells whether a retry may succeed", async () => {
    const to = (await channel.target(targets[0] ?? "")) ?? "";
    const outcome = await inTime(
      outcomeOf(send("nobody is connected", to)),
      scene.patienceMs,
      "send must not wait indefinitely for a run",
    );
    if ("value" in outcome) return; // sending needs no run
    assert.ok(
      isGatewayError(outcome.error),
      `send throws ${String(outcome.error)}; throw a GatewayError: UNAVAILABLE or INVALID_REQUEST`,
    );
    assert.ok(
      ["UNAVAILABLE", "INVALID_REQUEST"].includes(outcome.error.code),
      `send fails with ${outcome.error.code}; use UNAVAILABLE or INVALID_REQUEST`,
    );
  });
}

interface Run {
  /** Resolves when `run` has settled, whatever the outcome. */
  readonly ended: Promise<void>;
  isOver(): boolean;
  /** The account has connected, but its last report has another state. */
  isAway(): boolean;
  connected(): Promise<void>;
  received(count: number): Promise<readonly InboundMessage[]>;
  until(holds: (messages: readonly InboundMessage[]) => boolean): Promise<void>;
}

function start(
  { channel, account, patienceMs, openState }: Scene,
  signal: AbortSignal,
  onReceive: () => void = () => {},
): Run {
  const messages: InboundMessage[] = [];
  const reports: ChannelReport[] = [];
  let over: string | undefined;
  const running = channel.run({
    accountId: account.id,
    settings: account.settings,
    async receive(message) {
      onReceive();
      messages.push(structuredClone(message)); // throws for anything but plain data
      return { accepted: true, sessionKey: "agent:main:contract" };
    },
    commands: [],
    report: (report) => void reports.push(report),
    alive: () => {},
    openState,
    signal,
  });
  const ended = outcomeOf(running).then((outcome) => {
    over = "error" in outcome ? `run threw ${String(outcome.error)}` : "run returned";
  });
  const wait = (holds: () => boolean, otherwise: string) =>
    until(() => holds() || over !== undefined, patienceMs, otherwise).then(() => {
      if (!holds()) throw new Error(`${otherwise}: ${over ?? "run is still active"}`);
    });
  return {
    ended,
    isOver: () => over !== undefined,
    isAway: () => reports.some(({ state }) => state === "connected") && reports.at(-1)?.state !== "connected",
    connected: () =>
      wait(() => reports.some(({ state }) => state === "connected"), 'run never reported { state: "connected" }'),
    async received(count) {
      await wait(() => messages.length >= count, `${messages.length} of ${count} messages were submitted`);
      return messages;
    },
    until: (holds) => wait(() => holds(messages), "a message was not submitted"),
  };
}

/** Runs the account during `work`, and ends it afterwards. */
async function running(scene: Scene, work: (run: Run) => Promise<void>): Promise<void> {
  const controller = new AbortController();
  const run = start(scene, controller.signal);
  try {
    await run.connected();
    await work(run);
  } finally {
    controller.abort();
    await inTime(run.ended, scene.patienceMs, "run must end when its signal aborts");
  }
}

async function until(holds: () => boolean, patienceMs: number, otherwise: string): Promise<void> {
  for (const deadline = performance.now() + patienceMs; !holds(); await pause(STEP_MS))
    if (performance.now() > deadline) throw new Error(`${otherwise} (waited ${patienceMs} ms)`);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
