/** Login with a password or an access token, logout, and the check of an account. */
import { type Clock, GatewayError, invalidRequest, isGatewayError } from "@svc/sdk";
import type { ChannelCall, ChannelLoginSteps, LogoutReceipt } from "@svc/sdk/channels";
import { ask, discover, type RequestContext, whoami } from "./api.ts";
import { ADDRESS, type Settings, trimmed } from "./config.ts";

type Clocked = { readonly clock: Pick<Clock, "setTimeout"> };

/** @param addressOf the configured address of the homeserver for an account, also for a new one; empty: none */
export function createLogin({ clock }: Clocked, addressOf: (accountId: string) => string): ChannelLoginSteps {
  return {
    start: ({ accountId }) => ({
      kind: "form",
      message:
        "Make an account for the bot on a Matrix homeserver. Enter its user id and password, or an access token.",
      fields: [
        {
          key: "homeserverUrl",
          label: "Homeserver",
          help:
            addressOf(accountId) === ""
              ? "address or name, e.g. https://matrix.example.com or example.com; leave it empty for the server of the user id"
              : `leave it empty for ${addressOf(accountId)}`,
          optional: true,
        },
        {
          key: "userId",
          label: "User id of the bot",
          help: "e.g. @bot:example.com; not needed with a token",
          optional: true,
        },
        {
          key: "password",
          label: "Password of the bot",
          help: "used once, for the login of a new device; it is not stored",
          secret: true,
          optional: true,
        },
        {
          key: "accessToken",
          label: "Access token, instead of the password",
          help: "in Element: Settings > Help & About > Advanced > Access Token",
          secret: true,
          optional: true,
        },
      ],
    }),

    async next({ accountId, answers, signal }) {
      const entered = (key: string) => answers[key]?.trim() ?? "";
      const [userId, password] = [entered("userId"), answers["password"] ?? ""];
      const request = { clock, signal };
      const server = userId.slice(userId.indexOf(":") + 1);
      const named = trimmed(entered("homeserverUrl")) || addressOf(accountId) || (userId.includes(":") ? server : "");
      if (named === "")
        invalidRequest("the homeserver is missing; next: enter its address, or a user id with a server");
      const homeserverUrl = await homeserverOf(named, request);
      try {
        const accessToken = entered("accessToken") || (await passwordLogin(homeserverUrl, userId, password, request));
        const me = await whoami({ homeserverUrl, accessToken }, request);
        return {
          kind: "done",
          message: `Logged in as ${me} on ${homeserverUrl}. Write to it: https://matrix.to/#/${me}`,
          config: { homeserverUrl, accessToken },
        };
      } catch (error) {
        throw explained(error);
      }
    },
  };
}

async function homeserverOf(name: string, request: RequestContext): Promise<string> {
  const isName = /^[\w.-]+(?::\d+)?$/.test(name);
  const address = trimmed(isName ? await discover(name, request) : name);
  if (new RegExp(ADDRESS).test(address)) return address;
  return invalidRequest(
    `"${address}" is not the address of a homeserver; next: write it as https://matrix.example.com`,
  );
}

/** @returns the access token of a new device */
async function passwordLogin(homeserverUrl: string, userId: string, password: string, request: RequestContext) {
  if (userId === "" || password === "")
    return invalidRequest("the login is incomplete; next: enter user id and password, or an access token");
  const body = {
    type: "m.login.password",
    identifier: { type: "m.id.user", user: userId },
    password,
    initial_device_display_name: "svc",
  };
  const login = { homeserverUrl, accessToken: "" };
  const { access_token: token } = await ask(login, request, { method: "POST", path: "client/v3/login", body });
  return typeof token === "string" ? token : invalidRequest("the homeserver gave no access token; next: enter one");
}

/** Wrong values are the mistake of the person, not an outage. */
function explained(error: unknown): unknown {
  if (!isGatewayError(error)) return error;
  const { code, details, message } = error;
  const next = { NOT_LINKED: "copy the access token again", NOT_FOUND: "check the address of the homeserver" }[
    String(code)
  ];
  const isRefused = Object(details).errcode === "M_FORBIDDEN";
  if (next === undefined && !isRefused) return error;
  const [cause = ""] = message.split("; next:");
  return new GatewayError("INVALID_REQUEST", `${cause}; next: ${isRefused ? "check user id and password" : next}`);
}

/** Ends the session of the token. The token itself stays in the configuration. */
export async function logOut({ settings, signal }: ChannelCall<Settings>, { clock }: Clocked): Promise<LogoutReceipt> {
  try {
    await ask(settings, { clock, signal }, { method: "POST", path: "client/v3/logout", body: {} });
  } catch (error) {
    if (!isGatewayError(error) || error.code !== "NOT_LINKED") throw error; // it was logged out before
  }
  return { cleared: false, loggedOut: true };
}

/** Who the bot is, and what the server speaks. @throws GatewayError as `ask` */
export async function probe({ settings, signal }: ChannelCall<Settings>, { clock }: Clocked): Promise<object> {
  const request = { clock, signal };
  const [userId, { versions }] = await Promise.all([
    whoami(settings, request),
    ask(settings, request, { path: "client/versions" }),
  ]);
  return { ok: true, bot: { id: userId }, ...(Array.isArray(versions) ? { versions: versions.map(String) } : {}) };
}
