/** Proof that a request is from Teams: a token that the Bot Framework service signed for this bot. */
import { bounded, trimmedAddress } from "@svc/kit/channels";
import { isGatewayError, lazy, matches, messageOf, Type, unavailable } from "@svc/sdk";
import type { createRemoteJWKSet } from "jose";
import type { Activity } from "./activity.ts";
import { isWithin, type Settings } from "./config.ts";
import { ask, type RequestContext } from "./http.ts";

const library = lazy(() => import("jose"));
const ISSUER = "https://api.botframework.com";
/** With a leeway of 5 minutes. */
const RULES = { algorithms: ["RS256"], issuer: ISSUER, clockTolerance: 300, requiredClaims: ["exp", "serviceurl"] };
/** Keys are fetched again after 24 hours, and for an unknown key id at most once a minute. */
const TIMES = { cacheMaxAge: 24 * 60 * 60_000, cooldownDuration: 60_000 };
const Document = Type.Object({ jwks_uri: Type.String() });
const Endorsed = Type.Object({ kid: Type.String(), endorsements: Type.Array(Type.String()) });

/** @returns why the request is refused; `undefined`: it is proven. @throws GatewayError `UNAVAILABLE`: there are no keys */
export type Verify = (token: unknown, settings: Settings, claimed?: Activity) => Promise<string | undefined>;

export function createVerify(context: RequestContext): Verify {
  const sets = bounded<ReturnType<typeof createRemoteJWKSet>>(20);

  async function fetchKeys(url: string): Promise<Response> {
    const who = "the key service of the Bot Framework";
    const { data: document } = await ask({ url, who }, context);
    if (!matches(Document, document)) return unavailable(`${who} does not answer as expected; next: check openIdUrl`);
    const { status, data } = await ask({ url: document.jwks_uri, who }, context);
    return status === 200 && data !== undefined ? Response.json(data) : unavailable(`${who} names no keys`);
  }

  return async (authorization, { appId, openIdUrl, serviceUrls }, claimed) => {
    const [, token] = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(String(authorization)) ?? [];
    if (token === undefined) return "the request has no bearer token";
    const { createRemoteJWKSet: keySet, customFetch, decodeJwt, jwtVerify } = await library();
    try {
      // Before the keys are fetched, so that a token for somebody else causes no request.
      if (decodeJwt(token).aud !== appId) return "the token is for another bot; next: check appId";
      const known = sets.get(openIdUrl);
      const set = known ?? keySet(new URL(openIdUrl), { ...TIMES, [customFetch]: () => fetchKeys(openIdUrl) });
      sets.set(openIdUrl, set);
      const now = new Date(context.clock.now());
      const { payload, protectedHeader } = await jwtVerify(token, set, { ...RULES, audience: appId, currentDate: now });
      if (!claimed) return undefined;
      const { channelId, serviceUrl } = claimed;
      const key = set.jwks()?.keys.find((one) => matches(Endorsed, one) && one.kid === protectedHeader.kid);
      const isEndorsed = matches(Endorsed, key) && key.endorsements.includes(channelId);
      if (channelId !== "msteams" || !isEndorsed) return "the token is for another network";
      if (trimmedAddress(String(payload["serviceurl"])) !== trimmedAddress(serviceUrl))
        return "the token is for another service";
      return isWithin(serviceUrl, serviceUrls) ? undefined : `${serviceUrl} is outside serviceUrls; next: add it there`;
    } catch (error) {
      if (isGatewayError(error)) throw error;
      return `the token is invalid: ${messageOf(error)}`;
    }
  };
}
