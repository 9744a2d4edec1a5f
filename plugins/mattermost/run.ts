/** One run of an account: connects, fetches missed posts, and submits events in order. */
import type { Clock, Logger } from "@svc/sdk";
import type { ChannelRun } from "@svc/sdk/channels";
import { identify, type RequestContext } from "./api.ts";
import { catchUp } from "./catch-up.ts";
import type { Settings } from "./config.ts";
import { openCursor } from "./cursor.ts";
import { createDirectory, type Directory } from "./directory.ts";
import { openStream } from "./stream.ts";
import { createSubmit, timeOf } from "./submit.ts";
import { idOf } from "./translate.ts";

/** Milliseconds between two writes of the cursor. */
const SAVE_EVERY_MS = 2_000;

/** A running account, for the HTTP routes. */
export interface LiveAccount {
  readonly directory: Directory;
  readonly run: ChannelRun<Settings>;
}

export interface RunContext {
  readonly clock: Clock;
  readonly log: Logger;
  /** Running accounts by id. */
  readonly live: Map<string, LiveAccount>;
}

/** @throws GatewayError `UNAVAILABLE`: the connection was lost; `NOT_LINKED`: the token is refused; errors of `identify` */
export async function runAccount(run: ChannelRun<Settings>, context: RunContext): Promise<void> {
  const { signal, report } = run;
  if (signal.aborted) return;
  report({ state: "connecting" });
  try {
    await connected(run, context);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function connected(run: ChannelRun<Settings>, { clock, log, live }: RunContext): Promise<void> {
  const { accountId, settings, signal, report } = run;
  const request: RequestContext = { clock, signal };
  const { bot, serverNow } = await identify(settings, request);
  const cursor = await openCursor(run, bot.id, serverNow);
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
  const directory = createDirectory(settings, request);
  const own: LiveAccount = { directory, run };
  try {
    if (signal.aborted) return;
    live.set(accountId, own);
    report({ state: "connected", detail: `@${bot.name} on ${settings.baseUrl}` });
    const submit = createSubmit({ run, bot, directory, clock, log, onDone: cursor.note });
    const caught = await catchUp({ settings, request, cursor, log, submit });
    for (let event = await stream.next(); event; event = await stream.next()) {
      if (event.kind === "reaction") {
        await submit(event);
        continue;
      }
      if (!caught.delete(idOf(event))) await submit(event);
      cursor.advance(timeOf(event.post), event.post.channel_id);
    }
  } finally {
    if (live.get(accountId) === own) live.delete(accountId);
    stopSaving();
    await Promise.all([stream.close(), save()]);
  }
}
