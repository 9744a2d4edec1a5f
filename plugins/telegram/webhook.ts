/** The route to which Telegram delivers updates. */
import { isSameSecret } from "@svc/kit/secret";
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
  const given = headers[SECRET_HEADER];
  if (!account || secret === undefined || typeof given !== "string" || !isSameSecret(given, secret))
    return { status: 401 };
  const { deliver } = running.get(account.id) ?? {};
  if (!deliver) return { status: 503 };
  const update = parsed(rawBody);
  if (!update) return { status: 400 };
  await deliver(update);
  return { status: 200 };
}

function parsed(body: Uint8Array): Update | undefined {
  try {
    return JSON.parse(Buffer.from(body).toString()) as Update; // only Telegram knows the secret; checked when translated
  } catch {
    return undefined;
  }
}
