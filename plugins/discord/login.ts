/** The login of a bot account: one form for its token. */
import { invalidRequest } from "@svc/sdk";
import type { ChannelLoginSteps } from "@svc/sdk/channels";
import { type BotFacts, createApi, isTokenRefused, probe } from "./api.ts";
import { type Settings, settingsOf } from "./config.ts";

const PORTAL = "https://discord.com/developers/applications";

/** @param settings settings of an account that are not part of the login; default: as in the section */
export function loginSteps(settings: (accountId: string) => Partial<Settings>): ChannelLoginSteps {
  return {
    start: () => ({
      kind: "form",
      message: `Create an application at ${PORTAL}, and open its page Bot. Switch on "Message Content Intent" there.`,
      fields: [
        {
          key: "token",
          label: "Token of the bot",
          help: `${PORTAL} > the application > Bot > Reset Token; Discord shows it once`,
          secret: true,
        },
      ],
    }),

    async next({ accountId, answers, signal }) {
      const token = (answers["token"] ?? "").trim().replace(/^Bot\s+/i, "");
      if (token === "" || /\s/.test(token))
        invalidRequest(`enter the token of the bot; ${PORTAL} > the application > Bot`);
      const account = settingsOf({ ...settings(accountId), token });
      const { bot, inviteUrl, hint } = await checked(account, signal);
      const message = `Logged in as ${bot.name}. To add the bot to a server, open ${inviteUrl}${hint ? `. Note: ${hint}` : ""}`;
      return { kind: "done", message, config: { token } };
    },
  };
}

/** @throws GatewayError `INVALID_REQUEST`: the token is wrong; `UNAVAILABLE` */
async function checked(account: Settings, signal: AbortSignal): Promise<BotFacts> {
  try {
    return await probe(account, await createApi(account), signal);
  } catch (error) {
    if (isTokenRefused(error))
      invalidRequest(
        `Discord does not know this token; copy it again: ${PORTAL} > the application > Bot > Reset Token`,
      );
    throw error;
  }
}
