/** One run of an account: long polling, or deliveries of a webhook. */
import { type Clock, isGatewayError, type Logger, messageOf, pause, unavailable } from "@svc/sdk";
import type { ChannelRun, InboundMessage } from "@svc/sdk/channels";
import type { Update } from "grammy/types";
import { albumOf, joined } from "./albums.ts";
import { answerPress, connected, deleteWebhook, getMe, getUpdates, getWebhook, setMenu, setWebhook } from "./api.ts";
import type { Settings } from "./config.ts";
import { isTokenRefused } from "./failures.ts";
import type { Memory } from "./memory.ts";
import type { Bot } from "./mentions.ts";
import { toInbound } from "./translate.ts";

/** Milliseconds until a message that the gateway did not accept is submitted again. */
const RETRY_MS = 1_000;
/** Milliseconds to wait for the rest of an album. */
const ALBUM_MS = 500;

/** Accepts an update of a webhook. @returns whether the gateway has it; otherwise Telegram must repeat it */
export type Delivery = (update: Update) => Promise<boolean>;

export interface ReceivingContext {
  readonly clock: Pick<Clock, "now" | "setTimeout">;
  readonly log: Logger;
  readonly memory: Memory;
  /** Deliveries by account, while their runs accept webhooks. */
  readonly deliveries: Map<string, Delivery>;
}

interface Receiving extends ReceivingContext {
  readonly run: ChannelRun<ReturnType<typeof connected>>;
  readonly bot: Bot;
}

/** Resolves when the signal has aborted, or when the account needs a login. @throws GatewayError when the network fails */
export async function live(given: ChannelRun<Settings>, context: ReceivingContext): Promise<void> {
  const { signal } = given;
  if (signal.aborted) return;
  const settings = connected(given.settings);
  const run = { ...given, settings };
  run.report({ state: "connecting" });
  try {
    const bot = await getMe(settings, signal);
    const receiving = { ...context, run, bot };
    if (!settings.webhook) await deleteWebhook(settings, signal); // Telegram refuses to be polled beside a webhook
    await setMenu(settings, run.commands, signal).catch((error: unknown) =>
      context.log.warn({ account: run.accountId, reason: messageOf(error) }, "Telegram does not show the commands"),
    );
    if (settings.webhook) await listen(receiving, settings.webhook);
    else await poll(receiving);
  } catch (error) {
    if (signal.aborted) return;
    if (!isTokenRefused(error)) throw error;
    run.report({ state: "needs-login", detail: error.message });
  } finally {
    settings.agent.destroy();
  }
}

async function poll(receiving: Receiving): Promise<void> {
  const { run, bot, clock } = receiving;
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
    const refused = await accept(open === -1 ? items : items.slice(0, open), receiving);
    if (refused) {
      offset = refused.update_id;
      await wait(RETRY_MS);
    } else if (open !== -1) {
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

/** Submits updates one after the other. @returns the first update of the item that the gateway did not accept */
async function accept(items: readonly (readonly Update[])[], receiving: Receiving): Promise<Update | undefined> {
  const { run, log } = receiving;
  for (const item of items) {
    for (const message of translated(item, receiving)) {
      try {
        const receipt = await run.receive(message);
        if (receipt.accepted) continue;
        if (receipt.reason === "busy") return item[0];
        log.debug({ reason: receipt.reason }, "a Telegram message was not accepted");
      } catch (error) {
        if (!run.signal.aborted)
          log.warn({ account: run.accountId, err: error }, "the gateway did not take a Telegram message; trying again");
        return item[0];
      }
    }
    await answered(item[0], receiving);
  }
  return undefined;
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

async function listen(receiving: Receiving, webhook: NonNullable<Settings["webhook"]>): Promise<void> {
  const { run, bot, clock, deliveries } = receiving;
  const { settings, signal, accountId } = run;
  let earlier: Promise<unknown> = Promise.resolve();
  const deliver = async (update: Update) => {
    run.alive();
    return !isUpdate(update, receiving) || (await accept([[update]], receiving)) === undefined;
  };
  deliveries.set(accountId, (update) => {
    const delivery = earlier.then(() => deliver(update));
    earlier = delivery.catch(() => undefined);
    return delivery;
  });
  try {
    await setWebhook(settings, webhook, signal);
    run.report({ state: "connected", detail: `as @${bot.username}, by webhook` });
    let problem: string | undefined;
    for (let failedAt = clock.now() / 1_000; ;) {
      await pause(settings.pollSeconds * 1_000, clock, signal);
      const { url = "", last_error_date: at = 0, last_error_message: said } = await getWebhook(settings, signal);
      if (url !== webhook.url) unavailable("another program has changed the webhook of this bot; stop that program");
      run.alive();
      if (at > failedAt && said !== problem) {
        run.report({ state: "connected", detail: `Telegram cannot deliver to ${webhook.url}: ${said ?? "no reason"}` });
        [failedAt, problem] = [at, said];
      }
    }
  } finally {
    deliveries.delete(accountId);
  }
}
