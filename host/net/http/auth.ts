/** Authenticates and authorizes an HTTP request, in the order of checks of http/auth.md §4. */
import { coversScope, GatewayError, isGatewayError, type Principal, type RouteSpec } from "@svc/sdk";
import type { Access } from "../../auth/access.ts";
import type { Peer } from "../../auth/client-address.ts";
import { isLocal, originRefusal } from "../../auth/locality.ts";
import { bearerOf, checkShared } from "../../auth/shared-secret.ts";

/** Scopes of a request with the shared secret as its bearer token: it acts as the operator. Spec: §4.3 rule 2. */
const SCOPES = ["operator.admin"];

/** @returns `undefined`: the route leaves the decision to its handler. @throws GatewayError as `authorized` */
export function authorizeRoute(
  authorization: string,
  peer: Peer,
  route: Pick<RouteSpec, "auth" | "scope">,
  access: Access,
): Principal | undefined {
  if (route.auth === "plugin") return undefined;
  if (route.auth === "gateway" || bearerOf(authorization) !== undefined)
    return authorized(authorization, peer, route, access);
  try {
    return authorized(authorization, peer, route, access); // by the headers of a proxy, or in mode `none`
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    return undefined;
  }
}

/** @throws GatewayError `UNAUTHORIZED`, `FORBIDDEN`, `TOO_MANY_ATTEMPTS` */
function authorized(authorization: string, peer: Peer, { scope }: Pick<RouteSpec, "scope">, access: Access): Principal {
  const principal = authenticate(authorization, peer, access);
  if (scope && !coversScope(principal.scopes, scope)) throw new GatewayError("FORBIDDEN", `missing scope: ${scope}`);
  return principal;
}

function authenticate(authorization: string, peer: Peer, access: Access): Principal {
  const { authority, origins } = access;
  const { settings } = authority;
  const bearer = bearerOf(authorization);
  // Choice: a request without a bearer token is not a guess, and locks out no address.
  const reservation = bearer === undefined ? undefined : access.reserveGuess("shared-secret", peer, false);
  if (reservation?.locked) {
    const { retryAfterMs } = reservation;
    throw new GatewayError("TOO_MANY_ATTEMPTS", "too many failed attempts; wait, then try again", { retryAfterMs });
  }
  const auth = checkShared(settings, bearer === undefined ? undefined : { token: bearer, password: bearer }, peer);
  if (!auth.ok) {
    reservation?.failed();
    throw new GatewayError("UNAUTHORIZED", "Unauthorized");
  }
  reservation?.succeeded();
  // The request itself carries no secret, so any web page could send it through the browser of an authorized user.
  const ambient = settings.mode === "none" || auth.user !== undefined;
  const strange = ambient ? (originRefusal(peer, false, origins) ?? foreignFetch(peer)) : undefined;
  if (strange !== undefined) throw new GatewayError("FORBIDDEN", strange);
  if (auth.user !== undefined) return authority.proxyPrincipal(auth.user, "operator", SCOPES);
  if (settings.mode === "none" && !isLocal(peer))
    throw new GatewayError("FORBIDDEN", "mode none serves only programs on this machine; set gateway.auth.mode");
  return authority.sharedPrincipal("operator", SCOPES);
}

/** Browsers send no `Origin` when a page of another site loads a picture, a script or the like; they do send `Sec-Fetch-Site`. */
function foreignFetch({ headers }: Peer): string | undefined {
  const site = headers["sec-fetch-site"];
  const isForeign = headers.origin === undefined && (site === "cross-site" || site === "same-site");
  return isForeign ? "the request came from a page of another site; send it from a page of this gateway" : undefined;
}
