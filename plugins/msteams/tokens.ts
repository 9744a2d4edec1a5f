/** Access tokens of the bot: client credentials of the app registration. */
import { bounded, trimmedAddress } from "@svc/kit/channels";
import { GatewayError, matches, Type, unavailable, untilAborted } from "@svc/sdk";
import { type Settings } from "./config.ts";
import { ask, type RequestContext } from "./http.ts";

const EARLY_MS = 5 * 60_000; // a token is replaced before it expires
const Refused = Type.Object({ error: Type.String(), error_description: Type.Optional(Type.String()) });
const Granted = Type.Object({ access_token: Type.String({ minLength: 1 }), expires_in: Type.Number() });
export type Login = Pick<Settings, "appId" | "appPassword" | "tenantId" | "loginUrl" | "pingMs">;
/** @param isNew ignore the known token. @throws GatewayError `NOT_LINKED`: the login is refused; `UNAVAILABLE` */
export type TokenOf = (login: Login, signal: AbortSignal, isNew?: boolean) => Promise<string>;

/** @param context its signal aborts when nobody needs tokens any more */
export function createTokens(context: RequestContext): TokenOf {
  const known = bounded<Awaited<ReturnType<typeof granted>>>(50);
  const pending = new Map<string, ReturnType<typeof granted>>();
  return async (login, signal, isNew = false) => {
    signal.throwIfAborted();
    const key = JSON.stringify([login.loginUrl, login.tenantId, login.appId, login.appPassword]);
    const token = known.get(key);
    if (!isNew && token && token.until > context.clock.now()) return token.value;
    // Callers share one request, which none of them can cancel for the others.
    const asked = pending.get(key) ?? granted(login, context).finally(() => pending.delete(key));
    pending.set(key, asked);
    const given = await untilAborted(asked, signal);
    known.set(key, given);
    return given.value;
  };
}

async function granted(login: Login, context: RequestContext) {
  const { appId, appPassword, tenantId = "botframework.com", loginUrl, pingMs } = login;
  const scope = "https://api.botframework.com/.default";
  const form = { grant_type: "client_credentials", client_id: appId, client_secret: appPassword, scope };
  const request = {
    url: `${trimmedAddress(loginUrl)}/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`,
    who: "the login service of Microsoft",
    method: "POST",
    body: new URLSearchParams(form),
    ms: Math.min(10_000, Math.max(1_000, pingMs)),
  };
  const { status, data } = await ask(request, context);
  if (status === 200 && matches(Granted, data)) {
    const ms = data.expires_in * 1_000;
    return { value: data.access_token, until: context.clock.now() + Math.max(ms - EARLY_MS, ms / 2) };
  }
  if (status < 400 || !matches(Refused, data))
    return unavailable(`${loginUrl} does not answer as a login service; next: check loginUrl`);
  // Only the codes: the description may repeat what was sent.
  const codes = `${data.error} ${data.error_description}`.match(/^\w{1,60}|AADSTS\d+/g)?.join(", ");
  const next = "check appId, appPassword and tenantId, and run `svc channels add msteams` with a new client secret";
  throw new GatewayError("NOT_LINKED", `Microsoft refuses the login of the bot (${codes}); next: ${next}`);
}
