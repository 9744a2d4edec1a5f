/** Login: checks the address and the token with the server. */
import { isAddress, trimmedAddress } from "@svc/kit/channels";
import { type Clock, GatewayError, invalidRequest, isGatewayError } from "@svc/sdk";
import type { ChannelCall, ChannelLoginSteps } from "@svc/sdk/channels";
import { find, identify } from "./api.ts";
import type { Settings } from "./config.ts";

type Clocked = { readonly clock: Pick<Clock, "setTimeout"> };

/** @param addressOf the configured address of the server for an account, also for a new one; empty: none */
export function createLogin({ clock }: Clocked, addressOf: (accountId: string) => string): ChannelLoginSteps {
  return {
    start: ({ accountId }) => ({
      kind: "form",
      message:
        "Create a bot account on Mattermost: Integrations > Bot Accounts > Add Bot Account. An administrator may have to enable bot accounts first, in the System Console.",
      fields: [
        {
          key: "baseUrl",
          label: "Address of the server",
          ...(addressOf(accountId) === ""
            ? { help: "as in the browser, without the team, e.g. https://chat.example.com" }
            : { help: `leave it empty for ${addressOf(accountId)}`, optional: true }),
        },
        {
          key: "botToken",
          label: "Access token of the bot",
          help: "Mattermost shows it once, after Create Bot Account; Create New Token makes another one",
          secret: true,
        },
        {
          key: "callbackUrl",
          label: "Address of this gateway for the Mattermost server",
          help: "needed for buttons and the slash command, e.g. https://gateway.example.com; leave it empty otherwise",
          optional: true,
        },
        {
          key: "slashCommandToken",
          label: "Token of the slash command",
          help: "Integrations > Slash Commands, below the command that you created for the agent",
          secret: true,
          optional: true,
        },
      ],
    }),

    async next({ accountId, answers, signal }) {
      const entered = (key: string) => answers[key]?.trim() ?? "";
      const [address, callbackUrl] = [trimmedAddress(entered("baseUrl")), trimmedAddress(entered("callbackUrl"))];
      const baseUrl = address || addressOf(accountId);
      const [botToken, slashCommandToken] = [entered("botToken"), entered("slashCommandToken")];
      if (!isAddress(baseUrl))
        invalidRequest(`"${baseUrl}" is not the address of a server; write it as https://chat.example.com`);
      if (callbackUrl !== "" && !isAddress(callbackUrl))
        invalidRequest(
          `"${callbackUrl}" is not an address; write it as https://gateway.example.com, or leave it empty`,
        );
      if (botToken === "") invalidRequest("the access token of the bot is missing; see Integrations > Bot Accounts");
      const { bot } = await identify({ baseUrl, botToken }, { clock, signal }).catch(explain);
      const values = { baseUrl: address, botToken, callbackUrl, slashCommandToken };
      return {
        kind: "done",
        message: `Logged in as @${bot.name} on ${baseUrl}.${bot.isBot ? "" : " This is the account of a person; a bot account is safer."}`,
        config: Object.fromEntries(Object.entries(values).filter(([, value]) => value !== "")),
      };
    },
  };
}

/** Wrong values are the mistake of the person, not an outage. @throws always */
function explain(error: unknown): never {
  if (!isGatewayError(error) || !["NOT_LINKED", "NOT_FOUND"].includes(error.code)) throw error;
  const where =
    error.code === "NOT_FOUND"
      ? "check the address of the server"
      : "copy the token again from Integrations > Bot Accounts, and check that the bot is enabled";
  throw new GatewayError("INVALID_REQUEST", `${error.message}; ${where}`);
}

/** Who the bot is, and what is missing. @throws GatewayError as `ask` */
export async function probe({ settings, signal }: ChannelCall<Settings>, { clock }: Clocked): Promise<object> {
  const request = { clock, signal };
  const { bot } = await identify(settings, request);
  const teams = await find(settings, request, (client) => client.getMyTeams());
  const hints = [
    ...(teams?.length === 0 ? ["the bot is in no team: add it to the teams in which people talk to it"] : []),
    ...(bot.isBot ? [] : ["the token belongs to a person: use a bot account"]),
    ...(settings.callbackUrl === undefined ? ["without callbackUrl there are no buttons and no slash command"] : []),
  ];
  return {
    ok: true,
    bot: { id: bot.id, name: bot.name },
    ...(teams ? { teams: teams.map(({ display_name: name }) => name) } : {}),
    ...(hints.length > 0 ? { hint: hints.join("; ") } : {}),
  };
}
