/** One run of an account: connects to the daemon, stores what arrives, and submits it in order. */
import { jsonOf } from "@svc/kit/body";
import { type Bounded, bounded, submitted } from "@svc/kit/channels";
import { AnySignal } from "@svc/kit/time";
import { type Clock, type Logger, matches, messageOf, Type } from "@svc/sdk";
import type { ChannelRun, InboundMessage } from "@svc/sdk/channels";
import type { Settings } from "./config.ts";
import type { Daemons } from "./daemon.ts";
import { ReceiveEvent } from "./envelope.ts";
import { openJournal } from "./journal.ts";
import { ask, check, isAccount, listAccounts, unlinked } from "./rpc.ts";
import { eventsOf } from "./stream.ts";
import { toInbound } from "./translate.ts";

/** Maximum events that wait for the gateway; with more, the daemon has to wait. */
const MAX_WAITING = 500;
const MAX_REMEMBERED = 2_000;

/** What is known of the newest messages. */
export interface Memory {
  /** By id. Signal wants the text of a quoted message from its sender, and the quote of an edited message again. */
  readonly messages: Bounded<{ readonly text: string; readonly quote?: object; readonly edits?: number }>;
  /** Ids of messages by the ids of their edits. */
  readonly originals: Bounded<string>;
}

export const createMemory = (): Memory => ({ messages: bounded(MAX_REMEMBERED), originals: bounded(MAX_REMEMBERED) });

export interface RunContext {
  readonly clock: Clock;
  readonly log: Logger;
  readonly daemons: Daemons;
  readonly memory: Memory;
}

/** @throws GatewayError `UNAVAILABLE`: the connection was lost; `NOT_LINKED`: the daemon does not have the account */
export async function runAccount(run: ChannelRun<Settings>, context: RunContext): Promise<void> {
  const { settings, signal, report } = run;
  if (signal.aborted) return;
  report({ state: "connecting" });
  try {
    await context.daemons.use(settings, signal, (url) => connected(run, url, context));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function connected(run: ChannelRun<Settings>, url: string, context: RunContext): Promise<void> {
  const { settings, report } = run;
  const { account } = settings;
  const { clock, log, memory } = context;
  const ending = new AnySignal(run.signal);
  const { signal } = ending;
  const request = { url, clock, signal };
  await check(request);
  const accounts = await listAccounts(request);
  const own = accounts?.find((one) => isAccount(one, account));
  if (accounts && !own) throw unlinked();
  const originalOf = (id: string) => memory.originals.get(id) ?? id;
  const facts = { account, originalOf, aci: own?.aci ?? undefined };
  const journal = await openJournal(run, clock);
  let count = 0;
  let last = Promise.resolve();
  let fail = (_error: unknown) => {};
  const failed = new Promise<never>((_, reject) => (fail = reject));

  /** @returns `undefined` for what is of no interest, and for malformed events, which are logged */
  function understood(event: unknown): InboundMessage | undefined {
    if (!matches(ReceiveEvent, event)) {
      log.warn({ account: run.accountId }, "an event of signal-cli is malformed; skipped");
      return undefined;
    }
    const { exception, envelope } = event;
    if (exception) log.warn({ reason: exception.type ?? "unknown" }, "signal-cli could not read a message");
    return journal.isOld(envelope?.serverReceivedTimestamp ?? Infinity) ? undefined : toInbound(event, facts);
  }

  /** Submits a message after everything that arrived earlier. */
  function enqueue(event: unknown, message: InboundMessage): void {
    const { id = "", text, event: change } = message;
    if (change?.kind === "edit") memory.originals.set(id, change.messageId);
    if (!change || change.kind === "edit") memory.messages.set(change?.messageId ?? id, { text });
    count += 1;
    last = last.then(async () => {
      const receipt = await submitted({ receive: run.receive, signal }, message, { clock, log });
      count -= 1;
      journal.done(event);
      void journal.save().catch(fail);
      if (receipt.accepted && settings.sendReadReceipts && !change) void markRead(message);
    });
    last.catch(fail);
  }

  async function markRead({ at, sender }: InboundMessage): Promise<void> {
    const params = { account, recipient: sender.id, targetTimestamp: at, type: "read" };
    await ask({ url, clock, signal: run.signal }, "sendReceipt", params, Type.Unknown()).catch((error: unknown) =>
      log.debug({ reason: messageOf(error) }, "a Signal message was not marked as read"),
    );
  }

  async function read(): Promise<void> {
    const onOpen = async () => {
      await journal.save(); // from now on, no event may be missed
      report({ state: "connected", detail: settings.url ?? "signal-cli, started by the gateway" });
      run.alive();
    };
    const { lastEventId } = journal;
    for await (const { id, data } of eventsOf({ ...request, settings, lastEventId, onOpen, onAlive: run.alive })) {
      const event = jsonOf(data);
      const message = understood(event);
      if (!message) continue;
      await journal.add(id, event);
      enqueue(event, message);
      if (count >= MAX_WAITING) await last;
    }
  }

  try {
    for (const event of journal.left) {
      const message = understood(event);
      if (message) enqueue(event, message);
      else journal.done(event);
    }
    await Promise.race([read(), failed]);
  } finally {
    ending.abort();
    await last.catch(() => undefined);
    await journal.save().catch(() => undefined); // no write may end after the next run has read the state
  }
}
