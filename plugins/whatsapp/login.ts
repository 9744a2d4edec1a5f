/** Login: checks the number, the token and the secret with the Graph API. */
import { randomBytes } from "node:crypto";
import { GatewayError, invalidRequest, isGatewayError } from "@svc/sdk";
import type { ChannelCall, ChannelLoginSteps } from "@svc/sdk/channels";
import { identify, proofOf, type RequestContext } from "./api.ts";
import { NUMBER_ID, type Settings, webhookOf } from "./config.ts";

const FIELDS = [
  { key: "phoneNumberId", label: "Phone number ID", help: "WhatsApp > API Setup, below the number" },
  {
    key: "accessToken",
    label: "Access token",
    help: "Business settings > System users > Generate token",
    secret: true,
  },
  { key: "appSecret", label: "App secret", help: "App settings > Basic", secret: true },
  {
    key: "verifyToken",
    label: "Verify token of the webhook",
    help: "a word of your choice; leave it empty to get one",
    secret: true,
    optional: true,
  },
];

/** @param graphUrlOf address of the Graph API for an account, also for a new one */
export function createLogin(
  clock: RequestContext["clock"],
  graphUrlOf: (accountId: string) => string,
): ChannelLoginSteps {
  return {
    start: () => ({
      kind: "form",
      message:
        "Create an app for WhatsApp at https://developers.facebook.com/apps, and add your business number. A personal number needs another plugin: read the README of whatsapp-web, then svc plugins install @svc/plugin-whatsapp-web",
      fields: FIELDS,
    }),

    async next({ accountId, answers, signal }) {
      const entered = (key: string) => answers[key]?.trim() ?? "";
      const phoneNumberId = entered("phoneNumberId");
      const [accessToken, appSecret, chosen] = [entered("accessToken"), entered("appSecret"), entered("verifyToken")];
      if (!new RegExp(NUMBER_ID).test(phoneNumberId))
        invalidRequest("the phone number ID consists of digits; next: copy it from WhatsApp > API Setup");
      if (accessToken === "" || appSecret === "")
        invalidRequest("access token and app secret are required; next: copy them from the app");
      const login = { phoneNumberId, accessToken, appSecret, graphUrl: graphUrlOf(accountId) };
      const { name, number } = await identify(login, { clock, signal }).catch(explain);
      // The number was found, so a refusal is about the proof.
      await identify(login, { clock, signal }, { appsecret_proof: proofOf(login) }).catch((error: unknown) => {
        if (!isGatewayError(error) || error.code !== "INVALID_REQUEST") explain(error);
        invalidRequest("app secret and access token are of different apps; next: copy the secret of the same app");
      });
      const verifyToken = chosen || randomBytes(16).toString("hex");
      const shown = chosen === "" ? verifyToken : "that you entered";
      return {
        kind: "done",
        message: `Connected to ${name} (${number}). Now open WhatsApp > Configuration in the app, enter the callback URL https://<address of this gateway>${webhookOf(accountId)} and the verify token ${shown}, and subscribe to messages.`,
        config: { phoneNumberId, accessToken, appSecret, verifyToken },
      };
    },
  };
}

/** Wrong values are the mistake of the person, not an outage. @throws always */
function explain(error: unknown): never {
  throw isGatewayError(error) && error.code === "NOT_LINKED"
    ? new GatewayError("INVALID_REQUEST", error.message)
    : error;
}

/** What the number is, and what is missing. @throws GatewayError as `ask` */
export async function probe({ accountId, settings, ...call }: ChannelCall<Settings>, clock: RequestContext["clock"]) {
  const hint = settings.verifyToken === "" ? { hint: "without verifyToken WhatsApp cannot register the webhook" } : {};
  return { ok: true, ...(await identify(settings, { clock, ...call })), webhook: webhookOf(accountId), ...hint };
}
