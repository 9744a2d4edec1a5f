/** One run of an account: long polling, or deliveries of a webhook. */
import type { Agent } from "node:http";
import { submitted } from "@svc/kit/channels";
import { AnySignal } from "@svc/kit/time";
import { type Clock, isGatewayError, type Logger, messageOf, pause, Turns, unavailable } from "@svc/sdk";
import type { ChannelRun, InboundMessage, Receipt } from "@svc/sdk/channels";
import type { Update } from "grammy/types";
import { albumOf, joined } from "./albums.ts";
import {
  answerPress,
  checkWebhook,
  type ConnectedSettings,
  deleteWebhook,
  getMe,
  getUpdates,
  openAgent,
  release,
  setMenu,
  setWebhook,
} from "./api.ts";
import type { Settings } from "./config.ts";
import type { Memory } from "./memory.ts";
import type { Bot } from "./mentions.ts";
import { toInbound } from "./translate.ts";

/** Milliseconds to wait for the rest of an album. */
const ALBUM_MS = 500;

/** An account that runs. */
export interface Running {
  /** Connections that stay open. */
  readonly agent: Agent;
  /** Accepts an update of a webhook. Absent: the account polls. @throws GatewayError `UNAVAILABLE`: Telegram must repeat it */
  deliver?: (update: Update) => Promise<void>;
}

interface ReceivingContext {
  readonly clock: Pick<Clock, "setTimeout">;
  readonly log: Logger;
  readonly memory: Memory;
  /** By account id. */
  readonly running: Map<string, Running>;
}

interface Receiving extends ReceivingContext {
  readonly run: ChannelRun<ConnectedSettings>;
  readonly bot: Bot;
}

/** Resolves when the signal has aborted. @throws GatewayError the network fails; `NOT_LINKED`: it refuses the token */
export async function live(given: ChannelRun<Settings>, context: ReceivingContext): Promise<void> {
  const { accountId, signal } = given;
  const { running } = context;
  if (signal.aborted) return;
  const self: Running = { agent: openAgent(given.settings.apiRoot) };
  const settings = { ...given.settings, agent: self.agent };
  const run = { ...given, settings };
  running.set(accountId, self);
  run.report({ state: "connecting" });
  try {
    const bot = await getMe(settings, signal);
    const receiving = { ...context, run, bot };
    if (!settings.webhook) await deleteWebhook(settings, signal); // Telegram refuses to be polled beside a webhook
    await setMenu(settings, run.commands, signal).catch((error: unknown) =>
      context.log.warn({ account: accountId, reason: messageOf(error) }, "Telegram does not show the commands"),
    );
    if (settings.webhook) await listen(receiving, settings.webhook, self);
    else await poll(receiving);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    if (running.get(accountId) === self) running.delete(accountId);
    release(self.agent);
  }
}

async function poll(receiving: Receiving): Promise<void> {
  const { run, bot, clock, log } = receiving;
  const { settings, signal, report } = run;
  const wait = (ms: number) => pause(ms, clock, signal);
  const reportConnected = () => report({ state: "connected", detail: `as @${bot.username}` });
  reportConnected();
  let offset: number | undefined;
  let complete = new Set<string | undefined>();
  while (!signal.aborted) {
    let updates: readonly Update[];
    try {
      const given = await getUpdates(settings, offset, signal);
      updates = given.filter((update) => isUpdate(update, receiving));
      if (updates.length === 0 && given.length > 0) unavailable("Telegram only sent updates without an id");
      run.alive();
    } catch (error) {
      if (!isGatewayError(error) || error.retryAfterMs === undefined) throw error;
      report({ state: "disconnected", detail: error.message });
      await wait(error.retryAfterMs);
      if (!signal.aborted) reportConnected();
      continue;
    }
    const items = joined(updates);
    const open = items.findIndex(([first]) => albumOf(first) !== undefined && !complete.has(albumOf(first)));
    const ready = open === -1 ? items : items.slice(0, open);
    await proved(receiving, async (over) => {
      const submit = (message: InboundMessage) =>
        submitted({ receive: run.receive, signal: over }, message, { clock, log });
      for (const item of ready) await accept(item, receiving, submit);
    });
    if (open !== -1) {
      // The album stays unconfirmed, so the next poll returns it together with the rest of it.
      complete = new Set(updates.map(albumOf));
      offset = items[open]?.[0]?.update_id;
      await wait(ALBUM_MS);
    } else {
      // Without an offset after an empty poll: after a quiet week Telegram starts again with lower ids.
      const last = updates.at(-1);
      offset = last && last.update_id + 1;
      complete = new Set();
    }
  }
}

/**
 * Does work during which nothing is polled. The gateway may be busy for long, so Telegram has to prove meanwhile that the
 * connection works. @throws GatewayError the network fails; errors of the work
 */
async function proved({ run, clock }: Receiving, work: (over: AbortSignal) => Promise<void>): Promise<void> {
  const over = new AnySignal(run.signal);
  const { signal } = over;
  const proofs = async (): Promise<never> => {
    for (;;) {
      await pause(run.settings.pollSeconds * 1_000, clock, signal);
      await checkWebhook(run.settings, signal);
      run.alive();
    }
  };
  try {
    await Promise.race([work(signal), proofs()]);
  } finally {
    over.abort();
  }
}

/** Submits the messages of an update or an album. */
async function accept(
  item: readonly Update[],
  receiving: Receiving,
  submit: (message: InboundMessage) => Promise<Receipt>,
): Promise<void> {
  for (const message of translated(item, receiving)) {
    const receipt = await submit(message);
    if (!receipt.accepted) receiving.log.debug({ reason: receipt.reason }, "a Telegram message was not accepted");
  }
  void answered(item[0], receiving);
}

function translated(item: readonly Update[], { run, bot, memory, log }: Receiving): readonly InboundMessage[] {
  try {
    return toInbound(item, bot, memory);
  } catch (error) {
    const fields = { account: run.accountId, update: item[0]?.update_id, reason: messageOf(error) };
    log.warn(fields, "a Telegram update is malformed; skipped");
    return [];
  }
}

/** The app shows the button as pressed until it gets an answer. A failure is of no consequence. */
async function answered(update: Update | undefined, { run, log }: Receiving): Promise<void> {
  const id = update?.callback_query?.id;
  if (id === undefined) return;
  await answerPress(run.settings, id, run.signal).catch((error: unknown) =>
    log.debug({ reason: messageOf(error) }, "the press of a Telegram button was not acknowledged"),
  );
}

function isUpdate(value: Update, { run, log }: Receiving): boolean {
  if (Number.isSafeInteger(Object(value).update_id)) return true;
  log.warn({ account: run.accountId }, "a Telegram update has no id; skipped");
  return false;
}

async function listen(receiving: Receiving, webhook: NonNullable<Settings["webhook"]>, self: Running): Promise<void> {
  const { run, bot, clock } = receiving;
  const { settings, signal } = run;
  const turns = new Turns();
  /** Failures from before this run, and from before a delivery, no longer count. */
  let isForgiven = true;
  self.deliver = (update) =>
    turns.take("", async () => {
      run.alive();
      isForgiven = true;
      if (isUpdate(update, receiving)) await accept([update], receiving, (message) => run.receive(message));
    });
  await setWebhook(settings, webhook, signal);
  let forgivenAt = 0;
  for (let hasFailed: boolean | undefined; ;) {
    const info = await checkWebhook(settings, signal);
    const {
      url,
      pending_update_count: pending,
      last_error_date: at = 0,
      last_error_message: said = "no reason",
    } = info;
    if (url !== webhook.url) unavailable("another program has changed the webhook of this bot; stop that program");
    if (isForgiven) [forgivenAt, isForgiven] = [at, false];
    const fails = at > forgivenAt && pending > 0;
    if (!fails) run.alive();
    if (fails && hasFailed !== true)
      run.report({ state: "disconnected", detail: `Telegram cannot deliver to ${webhook.url}: ${said}` });
    if (!fails && hasFailed !== false) run.report({ state: "connected", detail: `as @${bot.username}, by webhook` });
    hasFailed = fails;
    await pause(settings.pollSeconds * 1_000, clock, signal);
  }
}
