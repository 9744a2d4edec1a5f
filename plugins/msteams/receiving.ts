/** Runs of accounts, and the webhook through which Teams delivers activities. */
import { submitted } from "@svc/kit/channels";
import { withDeadline } from "@svc/kit/time";
import {
  type Clock,
  isGatewayError,
  type Logger,
  matches,
  messageOf,
  parseJsonBody,
  pause,
  type RouteReply,
  type RouteRequest,
  Turns,
  unavailable,
} from "@svc/sdk";
import type { ChannelAccount, ChannelRun } from "@svc/sdk/channels";
import { type Activity, activityOf, Consent } from "./activity.ts";
import { fileCard } from "./cards.ts";
import { isWithin, type Settings, trimmed } from "./config.ts";
import type { createOutgoing, OutgoingSources } from "./outgoing.ts";
import { isDirect, personOf, placeOf, toInbound } from "./translate.ts";
import type { Verify } from "./verify.ts";
import { upload } from "./waiting.ts";

/** Teams waits 15 seconds for an answer. */
const ACCEPT_MS = 10_000;
/** Milliseconds until a failed check of the login is repeated, at most. */
const RETRY_MS = 10_000;
const LOG_EVERY_MS = 60_000;

export interface ReceivingSources extends OutgoingSources {
  readonly clock: Clock;
  readonly log: Logger;
  readonly verify: Verify;
  readonly post: ReturnType<typeof createOutgoing>["post"];
  readonly accounts: readonly ChannelAccount<Settings>[];
}

export function createReceiving({ accounts, clock, log, verify, bookOf, tokenOf, waiting, post }: ReceivingSources) {
  const running = new Map<string, ChannelRun<Settings>>();
  const turns = new Turns();
  let loggedAt = -Infinity;

  function refused(account: string, reason: string): RouteReply {
    if (clock.elapsed() - loggedAt > LOG_EVERY_MS)
      log.warn({ account, reason }, "a request to the Teams webhook was refused");
    loggedAt = Math.max(loggedAt, clock.elapsed());
    return { status: 401 };
  }

  /** Resolves when the signal has aborted. @throws GatewayError `UNAVAILABLE`: no network at the start; `NOT_LINKED` */
  async function run(own: ChannelRun<Settings>): Promise<void> {
    const { accountId, settings, signal, report } = own;
    if (signal.aborted) return;
    report({ state: "connecting" });
    running.set(accountId, own); // messages are accepted while the login service is away
    try {
      await tokenOf(settings, signal, true);
      for (let isConnected: boolean | undefined; !signal.aborted;) {
        own.alive();
        if (isConnected !== true) report({ state: "connected", detail: `bot ${settings.appId}` });
        isConnected = true;
        await pause(settings.pingMs, clock, signal);
        while (!signal.aborted) {
          waiting.prune();
          const problem = await tokenOf(settings, signal, true).then(() => undefined, failed);
          if (!problem) break;
          if (isConnected) report({ state: "disconnected", detail: problem });
          isConnected = false;
          await pause(Math.min(settings.pingMs, RETRY_MS), clock, signal);
        }
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      if (running.get(accountId) === own) running.delete(accountId);
    }
  }

  async function handler({ params, headers, rawBody, signal }: RouteRequest<unknown>): Promise<RouteReply> {
    const account = accounts.find(({ id, configured }) => id === params["account"] && configured);
    if (!account) return { status: 401 };
    const { id, settings } = account;
    const proof = await verify(headers["authorization"], settings);
    if (typeof proof === "string") return refused(id, proof);
    const activity = activityOf(parseJsonBody(rawBody));
    if (!activity) {
      log.warn({ account: id, bytes: rawBody.byteLength }, "a Teams activity is malformed; skipped");
      return { status: 200 };
    }
    const { channelId, serviceUrl } = activity;
    if (channelId !== "msteams" || !proof.endorsements.includes(channelId))
      return refused(id, "the token is for another network");
    if (trimmed(serviceUrl) !== trimmed(proof.serviceUrl)) return refused(id, "the token is for another service");
    if (!isWithin(serviceUrl, settings.serviceUrls))
      return refused(id, `${serviceUrl} is outside serviceUrls; next: add it there`);
    const own = running.get(id) ?? unavailable("the Teams account is not running", { retryAfterMs: 1_000 });
    const signals = [signal, own.signal];
    const late = () => "the gateway could not accept the message in time";
    return turns.take(activity.conversation.id, () =>
      withDeadline({ ms: ACCEPT_MS, clock, signals, late }, (ending) => accept(activity, own, ending)),
    );
  }

  async function accept(activity: Activity, own: ChannelRun<Settings>, signal: AbortSignal): Promise<RouteReply> {
    const { accountId, settings, receive } = own;
    const { type, name, action, serviceUrl } = activity;
    const { id } = placeOf(activity);
    const book = await bookOf(accountId, settings);
    if (type === "installationUpdate" && action?.startsWith("remove")) {
      await book.forget(id);
      return { status: 200 };
    }
    const { messages, files } = toInbound(activity);
    const direct = isDirect(activity);
    const person = direct && activity.from.id !== activity.recipient?.id ? [`user:${personOf(activity)}`] : [];
    await book.note([id, ...person], { id, serviceUrl, isDirect: direct }, files);
    if (type === "invoke" && name === "fileConsent/invoke") return consented(activity, own, signal);
    for (const message of messages) {
      const receipt = await submitted({ receive, signal }, message, { clock, log });
      if (!receipt.accepted) log.debug({ reason: receipt.reason }, "a Teams message was not accepted");
    }
    own.alive();
    if (type !== "invoke") return { status: 200 };
    const body = { statusCode: 200, type: "application/vnd.microsoft.activity.message", value: "OK" };
    return messages.length > 0 ? { body } : { status: 501 };
  }

  /** Stores the file that the person accepts. A failure is shown to the person, who can press again. */
  async function consented(activity: Activity, own: ChannelRun<Settings>, signal: AbortSignal): Promise<RouteReply> {
    const { accountId, settings } = own;
    const { value } = activity;
    if (!matches(Consent, value)) return { status: 400 };
    const { action, context, uploadInfo } = value;
    const to = placeOf(activity).id;
    const file = waiting.get(context.fileId, `${accountId} ${to}`);
    if (action === "accept") {
      if (!file || !uploadInfo) return { status: 404 };
      await upload(file, uploadInfo, settings.fileUrls, { clock, signal });
      const card = { type: "message", attachments: [fileCard(uploadInfo)] };
      await post({ accountId, settings, signal, to }, card).catch((error: unknown) =>
        log.warn({ account: accountId, reason: messageOf(error) }, "a stored file was not shown in Teams"),
      );
    }
    if (file) waiting.delete(context.fileId);
    return { body: {} };
  }

  return { run, handler };
}

/** @returns what is wrong. @throws GatewayError that only a new login can change */
function failed(error: unknown): string {
  if (isGatewayError(error) && error.code === "NOT_LINKED") throw error;
  return messageOf(error);
}
