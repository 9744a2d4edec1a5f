/** The login of a bot account: one form for its token. */
import { invalidRequest, isGatewayError } from "@svc/sdk";
import type { ChannelLoginSteps } from "@svc/sdk/channels";
import { type BotFacts, createApi, probe } from "./api.ts";
import type { Settings } from "./config.ts";

const PORTAL = "https://discord.com/developers/applications";

/** @param settings those of an account, which may be new; only the token is part of the login */
export function loginSteps(settings: (accountId: string) => Settings): ChannelLoginSteps {
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
      const account = { ...settings(accountId), token };
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
    if (isGatewayError(error) && error.code === "NOT_LINKED")
      invalidRequest(
        `Discord does not know this token; copy it again: ${PORTAL} > the application > Bot > Reset Token`,
      );
    throw error;
  }
}
