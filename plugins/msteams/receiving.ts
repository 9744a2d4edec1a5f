/** Runs of accounts, and the webhook through which Teams delivers activities. */
import { submitted } from "@svc/kit/channels";
import { withDeadline } from "@svc/kit/time";
import { isGatewayError, messageOf, parseJsonBody, pause, Turns, unavailable } from "@svc/sdk";
import type { RouteReply, RouteRequest } from "@svc/sdk";
import type { ChannelRun } from "@svc/sdk/channels";
import { type Activity, activityOf } from "./activity.ts";
import { fileCard } from "./cards.ts";
import type { Settings } from "./config.ts";
import type { createOutgoing, Shared } from "./outgoing.ts";
import { placeOf, toInbound } from "./translate.ts";

/** Teams waits 15 seconds for an answer. */
const ACCEPT_MS = 10_000;
const LOG_EVERY_MS = 60_000;
type Post = ReturnType<typeof createOutgoing>["post"];

export function createReceiving({ accounts, verify, clock, log, store, tokenOf, files }: Shared, post: Post) {
  const running = new Map<string, ChannelRun<Settings>>();
  const turns = new Turns();
  let loggedAt = -Infinity;

  /** Resolves when the signal has aborted. @throws GatewayError `UNAVAILABLE`: no network at the start; `NOT_LINKED` */
  async function run(own: ChannelRun<Settings>): Promise<void> {
    const { accountId, settings, signal, report } = own;
    if (signal.aborted) return;
    report({ state: "connecting" });
    running.set(accountId, own); // messages are accepted while the login service is away
    try {
      await tokenOf(settings, signal, true);
      const check = () => tokenOf(settings, signal, true).then(() => "", lostBy);
      for (let problem = "", shown = "none"; !signal.aborted; problem = await check()) {
        if (problem === "") own.alive();
        if (problem === "" && shown !== "") report({ state: "connected", detail: `bot ${settings.appId}` });
        if (problem !== "" && shown === "") report({ state: "disconnected", detail: problem });
        shown = problem;
        await pause(Math.min(settings.pingMs, problem === "" ? Infinity : 10_000), clock, signal);
        files.prune();
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      if (running.get(accountId) === own) running.delete(accountId);
    }
  }

  function refused(account: string, reason: string): RouteReply {
    const isDue = clock.elapsed() - loggedAt > LOG_EVERY_MS;
    if (isDue) log.warn({ account, reason }, "a request to the Teams webhook was refused");
    if (isDue) loggedAt = clock.elapsed();
    return { status: 401 };
  }

  async function handler({ params, headers, rawBody, signal }: RouteRequest<unknown>): Promise<RouteReply> {
    const account = accounts.find(({ id, configured }) => id === params["account"] && configured);
    if (!account) return { status: 401 };
    const { id, settings } = account;
    const activity = activityOf(parseJsonBody(rawBody));
    const refusal = await verify(headers["authorization"], settings, activity);
    if (refusal !== undefined) return refused(id, refusal);
    if (!activity) {
      log.warn({ account: id, bytes: rawBody.byteLength }, "a Teams activity is malformed; skipped");
      return { status: 200 };
    }
    const own = running.get(id) ?? unavailable("the Teams account is not running", { retryAfterMs: 1_000 });
    const deadline = { ms: ACCEPT_MS, clock, signals: [signal, own.signal], late: () => "too many messages wait" };
    const inTime = () => withDeadline(deadline, (ending) => accept(activity, own, ending));
    return turns.take(`${id} ${activity.conversation.id}`, inTime);
  }

  async function accept(activity: Activity, own: ChannelRun<Settings>, signal: AbortSignal): Promise<RouteReply> {
    own.alive();
    const { accountId, settings, receive } = own;
    const { type, name, value, serviceUrl } = activity;
    const { id, person, isDirect } = placeOf(activity);
    const { messages, files: addresses } = toInbound(activity);
    const known = isDirect ? [id, `user:${person}`] : [id];
    await store.note(accountId, settings.appId, known, { id, serviceUrl, isDirect }, addresses);
    for (const message of messages) await submitted({ receive, signal }, message, { clock, log });
    if (type !== "invoke") return { status: 200 };
    if (name !== "fileConsent/invoke") return messages.length > 0 ? { body: { statusCode: 200 } } : { status: 501 };
    const stored = await files.answered(value, `${accountId} ${id}`, settings, { clock, signal });
    if (!stored) return { body: {} };
    const failed = (err: unknown) => log.warn({ account: accountId, err }, "a stored file was not shown in Teams");
    const card = { type: "message", attachments: [fileCard(stored)] };
    await post({ accountId, settings, signal, to: id }, card).catch(failed);
    return { body: {} };
  }

  return { run, handler };
}

/** @returns what is wrong. @throws GatewayError that only a new login can change */
function lostBy(error: unknown): string {
  if (isGatewayError(error) && error.code === "NOT_LINKED") throw error;
  return messageOf(error);
}
