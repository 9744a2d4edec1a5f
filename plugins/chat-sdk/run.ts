/** One run of an account: the adapter is made, started, and ended with the run. */
import { randomUUID } from "node:crypto";
import type { Adapter, Attachment } from "chat";
import { bounded, type Bounded } from "@svc/kit/channels";
import { AnySignal, withDeadline } from "@svc/kit/time";
import { type Clock, GatewayError, isGatewayError, type Logger, messageOf, untilAborted } from "@svc/sdk";
import type { ChannelRun } from "@svc/sdk/channels";
import { makeAdapter, missingSecrets } from "./adapter.ts";
import { createChat, loggerOf } from "./chat.ts";
import type { Settings } from "./config.ts";
import { redacted, told } from "./failures.ts";
import type { State } from "./state.ts";

/** Milliseconds: a stopped run must end within 3 seconds. */
const [START_MS, END_MS] = [30_000, 2_500];
const MAX_FILES = 100;
const MAX_REF_CHARS = 2_000;

export interface Context {
  readonly clock: Clock;
  readonly log: Logger;
  /** Where people install adapters. */
  readonly directory: () => string;
  readonly stateOf: (accountId: string) => State;
}

/** An account that runs. */
export interface Live {
  readonly run: Pick<ChannelRun<Settings>, "accountId" | "settings" | "signal">;
  readonly adapter: Adapter;
  readonly state: State;
  /** Files that only the running adapter can read, by their reference. */
  readonly files: Bounded<Attachment>;
}

type Run = Pick<ChannelRun<Settings>, "accountId" | "settings" | "receive" | "alive" | "signal">;

/**
 * Starts the adapter of an account for the time of `during`.
 * @throws GatewayError `NOT_LINKED`: only a change of the account helps; `UNAVAILABLE`
 */
export async function withAdapter(run: Run, context: Context, during: (live: Live) => Promise<void>): Promise<void> {
  const { accountId, settings, signal } = run;
  const { clock, log, directory, stateOf } = context;
  const logger = loggerOf(log, accountId, settings);
  const adapter = await makeAdapter(settings, directory(), logger);
  const [state, files, over] = [stateOf(accountId), bounded<Attachment>(MAX_FILES), new AnySignal(signal)];
  const refOf = (attachment: Attachment) => {
    const { type, name, mimeType, url, fetchMetadata } = attachment;
    const hasSecret = url !== undefined && redacted(url, settings) !== url;
    const ref = JSON.stringify({ type, name, mimeType, fetchMetadata, url: hasSecret ? undefined : url });
    if (ref.length <= MAX_REF_CHARS && (fetchMetadata !== undefined || (url !== undefined && !hasSecret))) return ref;
    const own = JSON.stringify({ memory: randomUUID() });
    files.set(own, attachment);
    return own;
  };
  try {
    const late = () => `the adapter ${settings.adapter} did not start within ${START_MS / 1_000} s`;
    const chat = createChat({ run, adapter, logger, state, clock, log, refOf, over: over.signal });
    const starting = told(settings, "initialize", () => adapter.initialize(chat));
    // An adapter that is ready after the end of the run is ended again.
    starting.then(() => (over.signal.aborted ? adapter.disconnect?.() : undefined)).catch(() => undefined);
    await withDeadline({ ms: START_MS, clock, signals: [signal], late }, (ending) =>
      untilAborted(starting, ending),
    ).catch((error: unknown) => {
      // What the adapter finds wrong with its options is wrong at the next start, too.
      const isWrong = isGatewayError(error) && error.code === "INVALID_REQUEST";
      throw isWrong ? new GatewayError("NOT_LINKED", error.message) : error;
    });
    await during({ run, adapter, state, files });
  } finally {
    over.abort();
    const ending = { ms: END_MS, clock, signals: [], late: () => "it did not end in time" };
    const ended = () => told(settings, "disconnect", () => adapter.disconnect?.());
    await withDeadline(ending, (end) => untilAborted(ended(), end)).catch((error: unknown) =>
      log.warn({ account: accountId, reason: messageOf(error) }, "an adapter did not disconnect"),
    );
  }
}

/** @param live running accounts by id @throws as `withAdapter` */
export async function runAccount(run: ChannelRun<Settings>, context: Context, live: Map<string, Live>): Promise<void> {
  const { accountId, settings, signal, report, alive } = run;
  if (signal.aborted) return;
  report({ state: "connecting" });
  const missing = missingSecrets(settings, process.env);
  if (missing.length > 0)
    context.log.warn({ account: accountId, reason: missing.join(", ") }, "an adapter seems to lack secrets");
  try {
    await withAdapter(run, context, async (own) => {
      const { name, userName, botUserId } = own.adapter;
      live.set(accountId, own);
      alive();
      report({ state: "connected", detail: [name, userName, botUserId].filter(Boolean).join(" ") });
      try {
        await untilAborted(new Promise<never>(() => {}), signal);
      } finally {
        if (live.get(accountId) === own) live.delete(accountId);
      }
    });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
