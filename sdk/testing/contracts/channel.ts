/** The contract of a channel: its accounts, its addresses, a run that starts, breaks and ends, and what it sends. */
import assert from "node:assert/strict";
import { GatewayError, isGatewayError } from "../../gateway-error.ts";
import type { Channel, ChannelAccount, ChannelReport, InboundMessage } from "../../channels/service.ts";
import { startLeakCheck } from "../leak-check.ts";
import { type ContractContext, inTime, outcomeOf, PATIENCE_MS } from "./context.ts";

/** The network at the other end, as the test has it: a server that somebody speaks from and that hears what is sent. */
export interface ChannelNetwork {
  /** Somebody says this to the account that runs. */
  says(text: string): void | Promise<void>;
  /** What has reached the network so far, oldest first. */
  heard(): readonly string[];
  /** Delivers the last thing that was said once more, as networks do. Absent: this one never does. */
  repeats?(): void | Promise<void>;
  /** Cuts the connection of the account that runs; it can be made anew. */
  cuts?(): void | Promise<void>;
}

/** What is tried. */
export interface ChannelContractOptions {
  /** As it is contributed; `contributionOf` takes it out of its plugin. */
  readonly channel: Channel;
  readonly network: ChannelNetwork;
  /** Account that runs. Default: the first one. */
  readonly accountId?: string;
  /** Addresses as people write them: the first is sent to. */
  readonly targets: readonly string[];
  /** Texts that are no address of this channel, beside obvious ones. */
  readonly garbage?: readonly string[];
  /** Milliseconds for whatever should happen soon, e.g. to connect. Default 5000. */
  readonly patienceMs?: number;
}

const GARBAGE = ["", " ", "\n", "\u0000", "no such place, nowhere at all"];
const STEP_MS = 10;

type Scene = Required<Pick<ChannelContractOptions, "channel" | "network" | "targets" | "patienceMs">> & {
  readonly account: ChannelAccount;
};

/** Registers subtests; the account runs against the network in some of them, one at a time. */
export async function channelContract(t: ContractContext, options: ChannelContractOptions): Promise<void> {
  const { channel, accountId, network, targets, garbage = [], patienceMs = PATIENCE_MS } = options;
  const leaks = startLeakCheck();
  const account = channel.accounts.find(({ id }) => accountId === undefined || id === accountId);
  if (!account) throw new Error(`the channel has no account ${accountId ?? ""}: give the plugin a config with one`);
  const scene: Scene = { channel, network, targets, patienceMs, account };
  await t.test("says what it is, in data alone", async () => expectFacts(channel));
  await t.test("gives each address one spelling, and takes no garbage for one", () =>
    expectTargets(channel, targets, [...GARBAGE, ...garbage]),
  );
  await runs(t, scene);
  await sends(t, scene);
  await t.test("leaves nothing open", () => leaks.expectNone());
}

async function expectFacts({ label, capabilities, accounts }: Channel): Promise<void> {
  const { chats, maxTextChars } = capabilities;
  assert.notEqual(label.trim(), "", "label is shown to people");
  assert.ok(
    chats.length > 0 && chats.every((chat) => chat === "direct" || chat === "group"),
    "chats: direct, group or both",
  );
  assert.ok(Number.isInteger(maxTextChars) && maxTextChars > 0, "maxTextChars is a whole number above 0");
  assert.deepEqual(structuredClone(accounts), accounts, "accounts are data alone: no functions, no objects of classes");
  const ids = accounts.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length, `two accounts have one id: ${ids.join(", ")}`);
}

async function expectTargets(channel: Channel, targets: readonly string[], garbage: readonly string[]): Promise<void> {
  assert.ok(targets.length > 0, "give at least one address as a person writes it");
  for (const text of targets) {
    const address = await channel.target(text);
    if (address === undefined) return assert.fail(`target("${text}") must be an address`);
    assert.equal(await channel.target(address), address, `target must leave its own answer "${address}" as it is`);
  }
  for (const text of garbage)
    assert.equal(await channel.target(text), undefined, `target(${JSON.stringify(text)}) is no address`);
}

async function runs(t: ContractContext, scene: Scene): Promise<void> {
  const { network, channel } = scene;
  await t.test("ends at once when it was stopped before it began", async () => {
    const stopped = start(scene, AbortSignal.abort());
    await inTime(stopped.ended, scene.patienceMs, "run must end when its signal has aborted");
  });

  await t.test("connects, hands over what people say, and ends when it is told to", async () => {
    const leaks = startLeakCheck();
    await running(scene, async (run) => {
      await network.says("hello from the contract");
      const [message] = await run.received(1);
      assert.equal(message?.text, "hello from the contract");
      assert.ok(message.sender.id, "sender.id names who said it");
      assert.ok(message.chat.id, "chat.id is where an answer goes");
      assert.ok(
        channel.capabilities.chats.includes(message.chat.type),
        `it brings a ${message.chat.type} chat, which its capabilities do not list`,
      );
    });
    await leaks.expectNone();
  });

  await t.test("gives each message an id of its own, and the same one the same id", async () => {
    await running(scene, async (run) => {
      await network.says("first");
      await network.says("second");
      const [first, second] = await run.received(2);
      if (first?.id !== undefined) assert.notEqual(first.id, second?.id, "two messages must have two ids");
      if (!network.repeats) return;
      await network.repeats();
      const [, , again] = await run.received(3);
      assert.ok(
        again?.id !== undefined && again.id === second?.id,
        "what the network repeats must keep its id, so that it is taken once",
      );
    });
  });

  await t.test("goes on, or ends and can be run again, when a message could not be taken", async () => {
    let refusals = 0;
    const refuse = () => {
      if (refusals++ === 0) throw new GatewayError("UNAVAILABLE", "the contract refuses the first message");
    };
    const controller = new AbortController();
    const run = start(scene, controller.signal, refuse);
    await run.connected();
    await network.says("refused");
    await until(() => refusals > 0, scene.patienceMs, "the message was not handed over");
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
  await t.test("ends, or connects again, when the connection is cut", async () => {
    await running(scene, async (run) => {
      await network.cuts?.();
      await until(
        () => run.isOver() || run.isAway(),
        scene.patienceMs,
        "run must end or report disconnected when its connection is gone",
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
    channel.send({ accountId: account.id, settings: account.settings, to, text, signal });
  const arrives = (text: string) =>
    until(() => network.heard().includes(text), scene.patienceMs, "what was sent never reached the network");

  await t.test("sends to an address, to whoever spoke, and as much as it says it can", async () => {
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

  await t.test("sends nothing once it was stopped", async () => {
    await running(scene, async () => {
      const to = (await channel.target(targets[0] ?? "")) ?? "";
      const outcome = await inTime(
        outcomeOf(send("never sent", to, AbortSignal.abort())),
        scene.patienceMs,
        "send must end when it was stopped",
      );
      assert.ok("error" in outcome, "send must refuse when its signal has aborted");
      assert.ok(!network.heard().includes("never sent"), "it was sent all the same");
    });
  });

  await t.test("refuses in words that say whether trying again may help", async () => {
    const to = (await channel.target(targets[0] ?? "")) ?? "";
    const outcome = await inTime(
      outcomeOf(send("nobody is connected", to)),
      scene.patienceMs,
      "send must not wait for a run for ever",
    );
    if ("value" in outcome) return; // it needs no run to send
    assert.ok(
      isGatewayError(outcome.error),
      `send throws ${String(outcome.error)}; throw a GatewayError: UNAVAILABLE or INVALID_REQUEST`,
    );
    assert.ok(
      ["UNAVAILABLE", "INVALID_REQUEST"].includes(outcome.error.code),
      `send refuses with ${outcome.error.code}`,
    );
  });
}

interface Run {
  /** Resolves when `run` has settled, however it did. */
  readonly ended: Promise<void>;
  isOver(): boolean;
  /** Its last report says that it is not connected. */
  isAway(): boolean;
  connected(): Promise<void>;
  received(count: number): Promise<readonly InboundMessage[]>;
  until(holds: (messages: readonly InboundMessage[]) => boolean): Promise<void>;
}

function start({ channel, account, patienceMs }: Scene, signal: AbortSignal, onReceive: () => void = () => {}): Run {
  const messages: InboundMessage[] = [];
  const reports: ChannelReport[] = [];
  let over: string | undefined;
  const running = channel.run({
    accountId: account.id,
    settings: account.settings,
    async receive(message) {
      onReceive();
      messages.push(structuredClone(message)); // throws for what is no data
      return { accepted: true, sessionKey: "agent:main:contract" };
    },
    report: (report) => void reports.push(report),
    signal,
  });
  const ended = outcomeOf(running).then((outcome) => {
    over = "error" in outcome ? `it threw ${String(outcome.error)}` : "it returned";
  });
  const wait = (holds: () => boolean, otherwise: string) =>
    until(() => holds() || over !== undefined, patienceMs, otherwise).then(() => {
      if (!holds()) throw new Error(`${otherwise}: ${over ?? "it runs"}`);
    });
  return {
    ended,
    isOver: () => over !== undefined,
    isAway: () => reports.some(({ state }) => state === "connected") && reports.at(-1)?.state !== "connected",
    connected: () =>
      wait(() => reports.some(({ state }) => state === "connected"), 'run never reported { state: "connected" }'),
    async received(count) {
      await wait(() => messages.length >= count, `${messages.length} of ${count} messages were handed over`);
      return messages;
    },
    until: (holds) => wait(() => holds(messages), "what was said was not handed over"),
  };
}

/** Runs the account while `work` does, and sees to its end. */
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
