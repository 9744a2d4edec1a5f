/** One run of an account: submits new messages in their order, and stores how far it has read. */
import { bounded, submitted } from "@svc/kit/channels";
import { AnySignal } from "@svc/kit/time";
import { type Clock, type Logger, messageOf, pause, Type } from "@svc/sdk";
import type { ChannelRun } from "@svc/sdk/channels";
import { registerWebhook } from "./bluebubbles.ts";
import type { Settings } from "./config.ts";
import type { Server } from "./server.ts";
import { MAX_AGE_MS, type Received, toInbound } from "./translate.ts";

/** Remembered ids of messages: more than a poll reads again. */
const MAX_SEEN = 300;
const MAX_ORIGINALS = 1_000;

const State = Type.Object({
  /** Another Mac has other rows. */
  server: Type.String(),
  first: Type.Integer(),
  row: Type.Integer(),
  seen: Type.Array(Type.String()),
});

/** A running account. */
export interface Live {
  readonly server: Server;
  /** Ends the pause between two polls. */
  wake(): void;
}

export interface RunContext {
  readonly clock: Clock;
  readonly log: Logger;
  /** Running accounts by id. */
  readonly live: Map<string, Live>;
  open(settings: Settings): Promise<Server>;
}

/** @throws GatewayError `UNAVAILABLE`: the server cannot be reached; `NOT_LINKED`: it refuses the login */
export async function runAccount(run: ChannelRun<Settings>, context: RunContext): Promise<void> {
  const { accountId, signal, settings } = run;
  const { live, open } = context;
  if (signal.aborted) return;
  run.report({ state: "connecting" });
  let server: Server | undefined;
  try {
    server = await open(settings);
    await receive(run, server, context);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    if (live.get(accountId)?.server === server) live.delete(accountId);
    await server?.close();
  }
}

async function receive(run: ChannelRun<Settings>, server: Server, { clock, log, live }: RunContext) {
  const { accountId, settings, signal } = run;
  const { name } = await server.identify(signal);
  const stored = await run.openState(State);
  const id = settings.serverUrl || settings.command.join(" ");
  const former = stored.value?.server === id ? stored.value : undefined;
  const isSame = former !== undefined && (await server.reaches?.(former.row, signal)) !== false;
  const newest = isSame ? 0 : await server.newest(signal);
  let { first, row, seen: known } = isSame ? former : { first: newest, row: newest, seen: [] };
  const seen = new Set(known);
  const originals = bounded<Received>(MAX_ORIGINALS);
  const save = () => stored.write({ server: id, first, row, seen: [...seen] });
  await save();
  const bell = createBell(clock, signal);
  live.set(accountId, { server, wake: bell.wake });
  const warn = (reason: unknown, text: string) => log.warn({ account: accountId, reason: messageOf(reason) }, text);
  if (settings.serverUrl !== "")
    await registerWebhook(settings, accountId, { clock, signal }).catch((error: unknown) =>
      warn(error, "the webhook was not registered; BlueBubbles is only polled"),
    );

  async function submit(received: Received): Promise<void> {
    const { guid, isOwn, about, chatGuid, isRetracted } = received;
    const isKnown = seen.has(guid);
    originals.set(guid, received);
    const id = toInbound(received, isKnown).id ?? guid;
    if (seen.has(id)) return;
    // A message whose original cannot be found is still a message.
    const find = async (wanted: string) => server.find?.(wanted, signal).catch(() => undefined);
    const original = isOwn || about === undefined ? undefined : (originals.get(about) ?? (await find(about)));
    const message = toInbound(received, isKnown, original);
    const { text, media, event, at = clock.now() } = message;
    const isEmpty = text === "" && !media && !event;
    const isOver = at < clock.now() - MAX_AGE_MS || (isRetracted && !isKnown);
    if (!isOwn && !isEmpty && !isOver) {
      const receipt = await submitted(run, message, { clock, log });
      if (receipt.accepted)
        void server.read?.(chatGuid).catch((error: unknown) => warn(error, "a chat was not marked as read"));
    }
    seen.add(guid).add(id);
  }

  run.report({ state: "connected", detail: name });
  const malformed = (message: unknown) =>
    warn(JSON.stringify(Object.keys(Object(message) as object)), "a message is malformed; skipped"); // only its keys
  for await (const batch of server.feed({ row, first, signal, malformed, ...bell })) {
    run.alive();
    for (const message of batch) {
      await submit(message);
      row = Math.max(row, message.cursor ?? message.row);
    }
    for (const oldest of seen) if (seen.size > MAX_SEEN) seen.delete(oldest);
    if (batch.length > 0) await save();
  }
}

/** A pause that somebody can end. */
function createBell(clock: Clock, signal: AbortSignal) {
  let isRung = false;
  let napping: AnySignal | undefined;
  return {
    wake(): void {
      isRung = true;
      napping?.abort();
    },
    async nap(ms: number): Promise<void> {
      napping = new AnySignal(signal);
      if (!isRung) await pause(ms, clock, napping.signal);
      napping.release();
      isRung = false;
      signal.throwIfAborted();
    },
  };
}
