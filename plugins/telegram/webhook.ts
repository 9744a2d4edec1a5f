/** The route to which Telegram delivers updates. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { RouteReply, RouteRequest } from "@svc/sdk";
import type { ChannelAccount } from "@svc/sdk/channels";
import type { Update } from "grammy/types";
import type { Settings } from "./config.ts";
import type { Running } from "./receiving.ts";

const SECRET_HEADER = "x-telegram-bot-api-secret-token";

/** Telegram repeats a delivery until it gets status 200. @throws GatewayError `UNAVAILABLE`: the gateway does not have it yet */
export async function delivered(
  { params, headers, rawBody }: RouteRequest<unknown>,
  accounts: readonly ChannelAccount<Settings>[],
  running: ReadonlyMap<string, Running>,
): Promise<RouteReply> {
  const account = accounts.find(({ id }) => id === params["account"]);
  const secret = account?.settings.webhook?.secret;
  if (!account || secret === undefined || !isSame(headers[SECRET_HEADER], secret)) return { status: 401 };
  const { deliver } = running.get(account.id) ?? {};
  if (!deliver) return { status: 503 };
  const update = parsed(rawBody);
  if (!update) return { status: 400 };
  await deliver(update);
  return { status: 200 };
}

/** In constant time, also for values of different lengths. */
function isSame(value: string | string[] | undefined, secret: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return typeof value === "string" && timingSafeEqual(digest(value), digest(secret));
}

function parsed(body: Uint8Array): Update | undefined {
  try {
    return JSON.parse(Buffer.from(body).toString()) as Update; // only Telegram knows the secret; checked when translated
  } catch {
    return undefined;
  }
}
