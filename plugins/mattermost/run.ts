/** One run of an account: connects, fetches missed posts, and submits events in order. */
import { type Clock, isGatewayError, type Logger } from "@svc/sdk";
import type { ChannelRun } from "@svc/sdk/channels";
import { identify, type RequestContext } from "./api.ts";
import { catchUp } from "./catch-up.ts";
import type { Settings } from "./config.ts";
import { openCursor } from "./cursor.ts";
import { createDirectory, type Directory } from "./directory.ts";
import { type Frame, type NetworkEvent, readEvent } from "./events.ts";
import { openStream } from "./stream.ts";
import { createSubmit, timeOf } from "./submit.ts";
import type { Bot } from "./translate.ts";

/** Milliseconds between two writes of the cursor. */
const SAVE_EVERY_MS = 2_000;

/** A running account, for the HTTP routes. */
export interface LiveAccount {
  readonly bot: Bot;
  readonly directory: Directory;
  readonly run: ChannelRun<Settings>;
}

export interface RunContext {
  readonly clock: Clock;
  readonly log: Logger;
  /** File of the cursor. */
  readonly file: string;
  /** Running accounts by id. */
  readonly live: Map<string, LiveAccount>;
}

/** @throws GatewayError `UNAVAILABLE`: the connection was lost; errors of the first request */
export async function runAccount(run: ChannelRun<Settings>, context: RunContext): Promise<void> {
  const { signal, report } = run;
  if (signal.aborted) return;
  report({ state: "connecting" });
  try {
    await connected(run, context);
  } catch (error) {
    if (signal.aborted) return;
    if (!isGatewayError(error) || error.code !== "NOT_LINKED") throw error;
    report({ state: "needs-login", detail: error.message });
  }
}

async function connected(run: ChannelRun<Settings>, { clock, log, file, live }: RunContext): Promise<void> {
  const { accountId, settings, signal, report } = run;
  const request: RequestContext = { clock, signal };
  const { bot, serverNow } = await identify(settings, request);
  const cursor = await openCursor(file, bot.id, serverNow);
  const save = () =>
    cursor.save().catch((error: unknown) => log.warn({ err: error }, "a Mattermost cursor was not saved"));
  const stream = await openStream(settings, {
    clock,
    log,
    signal,
    onAlive: () => run.alive(),
    onLost: (detail) => report({ state: "disconnected", detail }),
  });
  const stopSaving = clock.setInterval(() => void save(), SAVE_EVERY_MS);
  try {
    if (signal.aborted) return;
    const directory = createDirectory(settings, request);
    live.set(accountId, { bot, directory, run });
    const { submit, insist } = createSubmit({ run, bot, directory, clock, log, onDone: cursor.note });
    await catchUp({ settings, request, cursor, log, submit, insist });
    report({ state: "connected", detail: `@${bot.name} on ${settings.baseUrl}` });
    for (let frame = await stream.next(); frame; frame = await stream.next()) {
      const event = readSafely(frame, log);
      if (!event) continue;
      await submit(event);
      if (event.kind !== "reaction") cursor.advance(timeOf(event.post), event.post.channel_id);
    }
  } finally {
    live.delete(accountId);
    stopSaving();
    await Promise.all([stream.close(), save()]);
  }
}

function readSafely(frame: Frame, log: Logger): NetworkEvent | undefined {
  try {
    return readEvent(frame);
  } catch (error) {
    log.warn({ err: error, event: String(frame.event) }, "a malformed event of Mattermost was skipped");
    return undefined;
  }
}
