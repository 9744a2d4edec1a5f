/** Proof that a request is from Teams: a token that the Bot Framework service signed for this bot. */
import { bounded } from "@svc/kit/channels";
import { isGatewayError, lazy, matches, messageOf, Type, unavailable } from "@svc/sdk";
import type { JWTVerifyGetKey } from "jose";
import type { Settings } from "./config.ts";
import { ask, type RequestContext } from "./http.ts";

/** The library is imported for the first request. */
const library = lazy(() => import("jose"));

const ISSUER = "https://api.botframework.com";
const LEEWAY_SECONDS = 5 * 60;
/** Keys are fetched again after as many milliseconds, and for an unknown key id at most once in the second time. */
const FRESH_MS = 24 * 60 * 60_000;
const COOLDOWN_MS = 60_000;
const MAX_DOCUMENTS = 20;
const SERVICE = "the key service of the Bot Framework";

const Document = Type.Object({ jwks_uri: Type.String() });
const Endorsed = Type.Object({ kid: Type.String(), endorsements: Type.Array(Type.String()) });

/** What a valid token proves. */
export interface Proof {
  /** Channel ids for which the key may sign. */
  readonly endorsements: readonly string[];
  readonly serviceUrl: string;
}

/** @returns a text: why the token is refused. @throws GatewayError `UNAVAILABLE`: the keys cannot be fetched */
export type Verify = (
  authorization: unknown,
  settings: Pick<Settings, "appId" | "openIdUrl">,
) => Promise<Proof | string>;

export function createVerify(context: RequestContext): Verify {
  const sets = bounded<JWTVerifyGetKey & { jwks(): { keys: readonly object[] } | undefined }>(MAX_DOCUMENTS);

  async function fetchKeys(url: string): Promise<Response> {
    const { data: document } = await ask({ url, who: SERVICE }, context);
    if (!matches(Document, document))
      return unavailable(`${SERVICE} does not answer as expected; next: check openIdUrl`);
    const { status, data } = await ask({ url: document.jwks_uri, who: SERVICE }, context);
    return status === 200 && data !== undefined ? Response.json(data) : unavailable(`${SERVICE} lists no keys`);
  }

  return async (authorization, { appId, openIdUrl }) => {
    const [, token] = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(String(authorization)) ?? [];
    if (token === undefined) return "the request has no bearer token";
    const { createRemoteJWKSet, customFetch, decodeJwt, jwtVerify } = await library();
    try {
      // Before the keys are fetched, so that a token for somebody else causes no request.
      if (decodeJwt(token).aud !== appId) return "the token is for another bot; next: check appId";
      const times = { cooldownDuration: COOLDOWN_MS, cacheMaxAge: FRESH_MS };
      const set =
        sets.get(openIdUrl) ??
        createRemoteJWKSet(new URL(openIdUrl), { ...times, [customFetch]: () => fetchKeys(openIdUrl) });
      sets.set(openIdUrl, set);
      const { payload, protectedHeader } = await jwtVerify(token, set, {
        algorithms: ["RS256"],
        issuer: ISSUER,
        audience: appId,
        clockTolerance: LEEWAY_SECONDS,
        currentDate: new Date(context.clock.now()),
        requiredClaims: ["exp", "serviceurl"],
      });
      const key = set.jwks()?.keys.find((one) => matches(Endorsed, one) && one.kid === protectedHeader.kid);
      return {
        endorsements: matches(Endorsed, key) ? key.endorsements : [],
        serviceUrl: String(payload["serviceurl"]),
      };
    } catch (error) {
      if (isGatewayError(error)) throw error;
      return `the token is invalid: ${messageOf(error)}`;
    }
  };
}
