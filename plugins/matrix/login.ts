/** Login with a password or an access token, logout, and the check of an account. */
import { isAddress, trimmedAddress } from "@svc/kit/channels";
import { type Clock, GatewayError, invalidRequest, isGatewayError } from "@svc/sdk";
import type { ChannelCall, ChannelLoginSteps, LogoutReceipt } from "@svc/sdk/channels";
import { ask, askFor, discover, errcodeOf, type Requester, whoami } from "./api.ts";
import type { Settings } from "./config.ts";

type Timer = Pick<Clock, "setTimeout" | "now">;

/** @param addressOf the configured address of the homeserver for an account, also for a new one; empty: none */
export function createLogin(clock: Timer, addressOf: (accountId: string) => string): ChannelLoginSteps {
  const optional = true;
  return {
    start({ accountId }) {
      const known = addressOf(accountId);
      const server = "address or name, e.g. https://matrix.example.com or example.com; empty: that of the user id";
      const help = known === "" ? server : `leave it empty for ${known}`;
      const tokenHelp = "in Element: Settings > Help & About > Advanced > Access Token";
      const passwordHelp = "used once, for the login of a new device; it is not stored";
      return {
        kind: "form",
        message: "Make an account for the bot on a homeserver. Enter its user id and password, or an access token.",
        fields: [
          { key: "homeserverUrl", label: "Homeserver", help, optional },
          { key: "userId", label: "User id of the bot", help: "e.g. @bot:example.com; not with a token", optional },
          { key: "password", label: "Password of the bot", help: passwordHelp, secret: true, optional },
          { key: "accessToken", label: "Access token of the bot", help: tokenHelp, secret: true, optional },
        ],
      };
    },

    async next({ accountId, answers, signal }) {
      const { homeserverUrl: server = "", userId = "", password = "", accessToken: entered = "" } = answers;
      const [, serverOfId = ""] = /^@[^:]*:(.+)$/.exec(userId.trim()) ?? [];
      const named = trimmedAddress(server.trim()) || addressOf(accountId) || serverOfId;
      const isName = /^[\w.-]+(?::\d+)?$/.test(named);
      const homeserverUrl = trimmedAddress(isName ? await discover(named, { clock, signal }) : named);
      if (!isAddress(homeserverUrl))
        invalidRequest(`"${homeserverUrl}" is not a homeserver; next: write it as https://matrix.example.com`);
      const visitor: Requester = { homeserverUrl, accessToken: "", clock, signal };
      try {
        const accessToken = entered.trim() || (await passwordLogin(visitor, userId.trim(), password));
        const me = await whoami({ ...visitor, accessToken });
        const message = `Logged in as ${me} on ${homeserverUrl}. Write to it: https://matrix.to/#/${me}`;
        return { kind: "done", message, config: { homeserverUrl, accessToken } };
      } catch (error) {
        throw explained(error);
      }
    },
  };
}

/** @returns the access token of a new device */
function passwordLogin(visitor: Requester, user: string, password: string): Promise<string> {
  if (user === "" || password === "")
    return invalidRequest("the login is incomplete; next: enter user id and password, or an access token");
  const identifier = { type: "m.id.user", user };
  const body = { type: "m.login.password", identifier, password, initial_device_display_name: "svc" };
  return askFor("access_token", visitor, "client/v3/login", { method: "POST", body });
}

/** Wrong values are the mistake of the person, not an outage. */
function explained(error: unknown): unknown {
  if (!isGatewayError(error)) return error;
  const nexts: Partial<Record<string, string>> = {
    NOT_LINKED: "copy the access token again",
    NOT_FOUND: "check the address of the homeserver",
  };
  const next = errcodeOf(error) === "M_FORBIDDEN" ? "check user id and password" : nexts[error.code];
  if (next === undefined) return error;
  return new GatewayError("INVALID_REQUEST", `${error.message.split("; next:")[0]}; next: ${next}`);
}

/** Ends the session of the token. The token itself stays in the configuration. */
export async function logOut({ settings, signal }: ChannelCall<Settings>, clock: Timer): Promise<LogoutReceipt> {
  try {
    await ask({ ...settings, clock, signal }, "client/v3/logout", { method: "POST", body: {} });
  } catch (error) {
    if (!isGatewayError(error) || error.code !== "NOT_LINKED") throw error; // it was logged out before
  }
  return { cleared: false, loggedOut: true };
}

/** Who the bot is, and what the server speaks. @throws GatewayError as `ask` */
export async function probe({ settings, signal }: ChannelCall<Settings>, clock: Timer): Promise<object> {
  const requester = { ...settings, clock, signal };
  const [id, { versions }] = await Promise.all([whoami(requester), ask(requester, "client/versions")]);
  return { ok: true, bot: { id }, ...(Array.isArray(versions) ? { versions: versions.map(String) } : {}) };
}
