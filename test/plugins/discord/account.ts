/** Runs the account `default` of a channel, and waits for what it submits and reports. */
import { randomBytes } from "node:crypto";
import type { TestContext } from "node:test";
import { GatewayError } from "@svc/sdk";
import type { Channel, ChannelReport, InboundMessage, MenuCommand, OutboundMessage, Receipt } from "@svc/sdk/channels";
import { openStateOf } from "../channels/states.ts";
import { soon } from "./server.ts";

// The library imports it, and the first import opens stdin, which the check for open resources would count.
await import("node:process");

export interface StartOptions {
  readonly commands?: readonly MenuCommand[];
  /** State to wait for. Default `connected`. */
  readonly until?: ChannelReport["state"];
  /** Default: accepts. */
  receive?(message: InboundMessage): Receipt | Promise<Receipt>;
}

export type Account = Awaited<ReturnType<typeof start>>;

/** Runs the account until the test is over. @throws Error if the run ends before the state `until` */
export async function start(t: Pick<TestContext, "after">, channel: Channel, options: StartOptions = {}) {
  const [account] = channel.accounts;
  if (!account) throw new Error("no account");
  const controller = new AbortController();
  const messages = queue<InboundMessage>();
  const reports = queue<ChannelReport>();
  let alive = 0;
  const ended = channel
    .run({
      accountId: account.id,
      settings: account.settings,
      commands: options.commands ?? [],
      async receive(message) {
        const receipt = (await options.receive?.(message)) ?? { accepted: true, sessionKey: "agent:main:test" };
        messages.add(structuredClone(message));
        return receipt;
      },
      report: (report) => reports.add(report),
      alive: () => void (alive += 1),
      openState: openStateOf(channel, account.id),
      signal: controller.signal,
    })
    .then(
      () => "returned",
      (error: unknown) => error,
    );
  const stop = () => {
    controller.abort();
    return soon(ended);
  };
  t.after(stop as () => Promise<never>); // the outcome is not used
  const call = { accountId: account.id, settings: account.settings, signal: AbortSignal.timeout(5_000) };
  const reported = async (state: ChannelReport["state"]) => {
    for (;;) {
      const report = await Promise.race([
        reports.next(),
        ended.then((outcome) => Promise.reject(new Error(String(outcome)))),
      ]);
      if (report.state === state) return;
    }
  };
  await reported(options.until ?? "connected");
  return {
    call,
    /** How the run ended: `returned`, or an error. */
    outcome: () => soon(ended),
    stop,
    reported,
    alive: () => alive,
    received: () => messages.next(),
    send: (message: Partial<OutboundMessage> & { to: string }) =>
      channel.send({ ...call, id: randomBytes(16).toString("hex"), text: "", ...message }),
  };
}

/** Values in the order in which they were added; `next` waits for the next one. */
function queue<T>() {
  const values: T[] = [];
  const waiting: ((value: T) => void)[] = [];
  return {
    add(value: T) {
      const first = waiting.shift();
      if (first) first(value);
      else values.push(value);
    },
    next: () =>
      soon(new Promise<T>((resolve) => (values.length > 0 ? resolve(values.shift() as T) : waiting.push(resolve)))), // not empty
  };
}

export const refusal = () => {
  throw new GatewayError("UNAVAILABLE", "the test refuses the message");
};
