/** Login: asks for the tokens of a Slack app and checks them. */
import { GatewayError, invalidRequest, isGatewayError, messageOf } from "@svc/sdk";
import type { ChannelAccount, ChannelCall, ChannelLoginSteps } from "@svc/sdk/channels";
import { checkAppToken, identify } from "./api.ts";
import { DEFAULTS, type Settings } from "./config.ts";

/** Scopes of the bot token that the channel uses. */
const SCOPES = [
  "app_mentions:read",
  "channels:history",
  "chat:write",
  "commands",
  "files:read",
  "files:write",
  "groups:history",
  "im:history",
  "im:write",
  "mpim:history",
  "reactions:read",
  "reactions:write",
  "users:read",
] as const;

const FIELDS = [
  {
    key: "botToken",
    label: "Bot token (xoxb-...)",
    help: "api.slack.com/apps > your app > OAuth & Permissions > Bot User OAuth Token; install the app first",
    secret: true,
  },
  {
    key: "appToken",
    label: "App-level token (xapp-...)",
    help: "Basic Information > App-Level Tokens > Generate, with the scope connections:write; empty for mode http",
    secret: true,
    optional: true,
  },
  {
    key: "signingSecret",
    label: "Signing secret, for mode http only",
    help: "Basic Information > App Credentials > Signing Secret; empty for Socket Mode",
    secret: true,
    optional: true,
  },
] as const;

/** @param accounts for their `apiUrl`; @param apiUrl the one of new accounts */
export function createLogin(
  accounts: readonly ChannelAccount<Settings>[],
  apiUrl: string = DEFAULTS.apiUrl,
): ChannelLoginSteps {
  return {
    start: () => ({
      kind: "form",
      message: "Create a Slack app at https://api.slack.com/apps (the README has a manifest), and enter its tokens.",
      fields: FIELDS,
    }),

    async next({ accountId, answers, signal }) {
      const entered = Object.fromEntries(
        FIELDS.map(({ key }) => [key, (answers[key] ?? "").trim()] as const).filter(([, value]) => value !== ""),
      );
      const { botToken = "", appToken = "", signingSecret = "" } = entered;
      if (botToken.startsWith("xoxe."))
        invalidRequest(
          "the bot token expires: use an app without token rotation (OAuth & Permissions > Advanced token security)",
        );
      if (!botToken.startsWith("xoxb-")) invalidRequest(`the bot token begins with xoxb-: ${FIELDS[0].help}`);
      if (appToken === "" && signingSecret === "")
        invalidRequest("enter the app-level token for Socket Mode, or the signing secret for mode http");
      if (appToken !== "" && !appToken.startsWith("xapp-"))
        invalidRequest(`the app-level token begins with xapp-: ${FIELDS[1].help}`);
      const own = accounts.find(({ id }) => id === accountId)?.settings ?? { ...DEFAULTS, apiUrl };
      const call = { settings: { ...own, botToken, appToken, signingSecret }, signal };
      const { name, team, botId } = await checked(FIELDS[0].help, () => identify(call));
      if (botId === undefined) invalidRequest(`the token belongs to a person instead of a bot: ${FIELDS[0].help}`);
      if (appToken !== "") await checked(FIELDS[1].help, () => checkAppToken(call));
      const mode = appToken === "" ? "http" : "socket"; // in place of an earlier one
      return { kind: "done", message: `Logged in as ${name} in ${team}.`, config: { ...entered, mode } };
    },
  };
}

/** A refused token is refused for good here: the person can enter another one. */
async function checked<T>(help: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isGatewayError(error) && error.code === "UNAVAILABLE") throw error;
    throw new GatewayError("INVALID_REQUEST", `${messageOf(error).split(";")[0]}; see ${help}`);
  }
}

/** Who the bot is, and what its app lacks. @throws GatewayError that describes the problem */
export async function probeAccount(call: ChannelCall<Settings>) {
  const { userId, name, teamId, team, scopes } = await identify(call);
  if (call.settings.mode === "socket") await checkAppToken(call);
  const missing = scopes.length === 0 ? [] : SCOPES.filter((scope) => !scopes.includes(scope));
  return {
    ok: true,
    bot: { id: userId, name },
    team: { id: teamId, name: team },
    mode: call.settings.mode,
    ...(missing.length === 0
      ? {}
      : { hint: `the bot lacks scopes: ${missing.join(", ")}; add them to the Slack app and install it again` }),
  };
}
