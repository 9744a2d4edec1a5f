/** Every section of http/auth.md. */
import { all, later, type Row, tested } from "./row.ts";

const wire = (file: string, ...names: string[]) => tested(`conformance/wire/${file}`, ...names);
const http = (...names: string[]) => wire("http", ...names);
const section = (...names: string[]) => tested("host/auth/gateway-section", ...names);
const mode = (...names: string[]) => tested("host/auth/mode", ...names);
const limiter = (...names: string[]) => tested("host/auth/failure-limiter", ...names);
const proxy = (...names: string[]) => tested("host/auth/trusted-proxy", ...names);
const locality = (...names: string[]) => tested("host/auth/locality", ...names);
const address = (...names: string[]) => tested("host/auth/client-address", ...names);

export const httpRows: Readonly<Record<string, Row>> = {
  "§1 auth.mode": all(section('"auth.mode"'), wire("startup", "an unknown mode")),
  "§1 auth.token": wire("startup", "a token that is not text"),
  "§1 auth.password": section('"auth.password"'),
  "§1 auth.password as SecretRef (decided: refused)": tested(
    "plugins/secrets/gateway",
    "is refused at ${path}, and the message names the alternative",
  ),
  "§1 auth.allowTailscale": later("tailnet"),
  "§1 auth.rateLimit.maxAttempts": all(section('"auth.rateLimit.maxAttempts"'), limiter("after the default number")),
  "§1 auth.rateLimit.windowMs": all(
    section('"auth.rateLimit.windowMs"'),
    limiter("slide out of the window one by one"),
  ),
  "§1 auth.rateLimit.lockoutMs": all(section('"auth.rateLimit.lockoutMs"'), limiter("for the default time")),
  "§1 auth.rateLimit.exemptLoopback": all(section('"auth.rateLimit.exemptLoopback"'), limiter("are exempt, unless")),
  "§1 trustedProxy.userHeader": all(section('"auth.trustedProxy.userHeader"'), wire("startup", "without userHeader")),
  "§1 trustedProxy.requiredHeaders": section('"requiredHeaders"'),
  "§1 trustedProxy.allowUsers": proxy('"another case"', '"another user"'),
  "§1 trustedProxies": address("a list of addresses and networks"),
  "§1 allowRealIpFallback": wire("origin", "x-real-ip with the fallback"),
  "§1 bind": all(section('["bind", ['), wire("startup", "an unknown bind")),
  "§1 customBindHost": wire("startup", "bind custom with a host that is not IPv4", "bind custom without a host"),
  "§1 port": wire("startup", "is SVC_GATEWAY_PORT before gateway.port", "is that of the command line before both"),
  "§1 tailscale.mode": later("tailnet"),
  "§1 controlUi.allowedOrigins": wire("origin", "origins on the list"),
  "§1 controlUi.dangerouslyAllowHostHeaderOriginFallback": wire("origin", "origins by the Host header"),
  "§1 controlUi.allowInsecureAuth": wire("device-presence", "insecure auth allowed"),
  "§1 controlUi.dangerouslyDisableDeviceAuth": wire("device-presence", "device auth disabled"),
  "§1 Strict objects": wire("startup", "an unknown key of gateway.auth"),

  "§2 Token, password: server order": all(
    mode("both: the configuration wins"),
    wire("credentials", "the configuration wins over the environment"),
  ),
  "§2 Token, password: client order": tested("host/cli/target", "the environment before the configuration"),
  "§2 CLI overrides --auth, --token, --password": all(
    mode("take precedence over the configuration"),
    tested("host/cli/gateway-run", "takes mode, token and password from its flags"),
  ),
  "§2 Legacy names not read (decided: only gateway.aliases)": mode("is not read without an alias"),
  "§2 Mode selection": mode("an explicit mode wins over a password", "a password wins over a token", "a token in the"),
  "§2 Outcome: token generated (choice: a private file)": tested(
    "host/auth/secret",
    "is generated once, readable only by its owner",
  ),
  "§2 Outcome: token with allowTailscale": later("tailnet"),
  "§2 Outcome: password missing": wire("startup", "mode password without a password"),
  "§2 Outcome: trustedProxy missing or blank": all(
    wire("startup", "mode trusted-proxy without its object"),
    mode("blank userHeader"),
  ),
  "§2 Outcome: trustedProxies empty": wire("startup", "mode trusted-proxy without trustedProxies"),
  "§2 Outcome: trusted-proxy on loopback": wire("startup", "mode trusted-proxy on loopback, proxies elsewhere"),
  "§2 Outcome: funnel, serve": later("tailnet"),
  "§2 Outcome: hooks.token equals the token": tested("host/webhooks/settings", "the gateway's own token"),

  "§3 loopback": wire("startup", "on loopback by default"),
  "§3 lan": wire("startup", "off loopback with a token"),
  "§3 tailnet": tested("host/auth/bind", '"tailnet", {', "tailnet without one: loopback"),
  "§3 auto": tested("host/auth/bind", "auto: loopback", "auto without loopback: everywhere"),
  "§3 custom": wire("startup", "bind custom with an address of another machine"),
  "§3 Gate: secret off loopback": tested(
    "host/auth/bind",
    "lan without authentication",
    "lan in mode token without one",
  ),
  "§3 Gate: panel origins": tested("host/auth/bind", "a panel that no page may use"),
  "§3 Gate: port in use": wire("startup", "the port is in use, with the next step"),
  "§3 TLS": later("TLS"),

  "§4 Endpoints: /tools/invoke, /v1": later("tools/invoke and the public APIs"),
  "§4 Endpoints: plugin routes": tested("host/net/http", "a route with the gateway's credential"),
  "§4 Not using it: routes with their own": tested("host/net/http", "a route that verifies requests itself"),
  "§4 1 Extraction": http(
    "the scheme in any case",
    "another scheme",
    "X-API-Key",
    "a cookie",
    "in the query does not count",
  ),
  "§4 1 As token and as password": http("the password as bearer is right in mode password"),
  "§4 2 trusted-proxy": http("mode trusted-proxy ignores the bearer and counts nothing"),
  "§4 3 none (choice: this machine only)": all(
    http("mode none needs no credential on this machine"),
    tested("host/net/http", "in mode none answers"),
  ),
  "§4 4 Lockout before the credential": http("the lock refuses the right one with 429"),
  "§4 5 Constant time": tested("host/auth/secret", "comparing secrets"),
  "§4 6 Failure counts, success clears": http("wrong credentials lock, missing ones do not", "a success clears"),
  "§4 Response 401": http("is answered with ${status}"),
  "§4 Response 429": all(http("with 429"), tested("host/net/limits", "three 401, then 429 with Retry-After")),
  "§4 Response 405": http("a wrong method is 405 with Allow, before the credential"),
  "§4 Response 413 (decided: real)": http("a body too large is a real 413"),
  "§4 Response 408": tested("host/net/http-handler", "is answered with 408, and the connection closed"),
  "§4 Response 400": http("invalid JSON is 400 invalid_request_error"),
  "§4 Empty body, content type": http("an empty body is {}, and no content type is required"),
  "§4 Headers on every answer, no CORS": http("nosniff and no-referrer are set on"),
  "§4 HSTS": later("TLS"),

  "§5 1 config": proxy('"config_missing"'),
  "§5 2 proxies": proxy('"no_proxies_configured"'),
  "§5 3 source": proxy('"untrusted_source"'),
  "§5 4 required headers": proxy('"missing_header_x-sso"'),
  "§5 5 user": proxy('"user_missing"', "a blank first user"),
  "§5 6 allowUsers": proxy('"user_not_allowed"'),
  "§5 Order": proxy("is refused for the first row that applies"),
  "§5 HTTP shows the generic 401": tested("host/net/trusted-proxy-wire", '"Unauthorized"'),
  "§5 Panel needs no device": wire("device-presence", "control UI by a trusted proxy needs no device"),

  "§6 Key: scope and normalised ip, unknown": limiter(
    "in all its spellings",
    "of unknown addresses are counted together",
  ),
  "§6 Scopes independent": limiter("are counted separately for each scope"),
  "§6 Scope hook-auth in use": tested(
    "host/webhooks/ingress",
    "429 with Retry-After after 20 failures, the right token and the right signature included",
  ),
  "§6 Limiter always on (choice)": tested("host/net/limits", "on this machine do not count, except those of pages"),
  "§6 Page limiter, 198.18.0.1": limiter("a page on loopback: pooled"),
  "§6 maxAttempts 3: the fourth is 429": limiter(
    "with maxAttempts 3: three attempts are allowed, the fourth is locked",
  ),
  "§6 Loopback exempt": limiter("are exempt, unless exemptLoopback is false"),
  "§6 Prune": limiter("are dropped when they no longer matter"),

  "§7.1 1-2 Peer": address("peer not trusted: real ip ignored"),
  "§7.1 3 Right to left": address("right to left", "trusted hops skipped", "entries that are not addresses skipped"),
  "§7.1 4 X-Real-IP": address("real ip with the fallback", "real ip without the fallback"),
  "§7.1 5 CIDR": address("is the same for all spellings of an IPv4 address", "matches nothing, and is reported"),
  "§7.2 Local direct": all(locality("a local client"), wire("origin", "a local client")),
  "§7.2 Rebinding": wire("origin", "DNS rebinding"),
  "§7.3 allowlist": all(locality('"allowlist"'), wire("origin", "listed, in another case")),
  "§7.3 host-header-fallback": all(locality('"host-header-fallback"'), wire("origin", "the start warns about it")),
  "§7.3 local-loopback": locality('"local-loopback"'),
  "§7.3 Otherwise": wire("connect-order", "6 the origin"),
  "§7.4 Seeding (choice: in memory)": tested("host/auth/origins", "lan: seeded", "custom that is seeded anyway"),

  "§8 Fields, shared secret, device token": wire("device", "device tokens"),
  "§8 Missing device": wire("device-presence", "without a device"),
  "§8 Scopes cleared": tested("host/net/connect-rows", "§9 row 6: no credential at all"),
  "§8 Detail codes": shared(),
  "§8 Timeout, skew": all(wire("transport", "the deadline is 10000 ms"), wire("device", "signed 121 s ago")),
  "§8 Flood guard": tested("host/net/limits", "sends the 11th unauthorized role, then closes with 1008"),
  "§8 policy": wire("hello", "policy is 25 MiB"),
  "§8 Upgrade never refused": wire("transport", "no credential is checked on the upgrade"),

  "§9 3 per 60 s, one bucket": tested("host/net/limits", "is 3 calls per 60 s over all its methods"),
  "§9 Key": tested("host/net/call-limiter", "the key of a budget"),
  "§9 Fixed window": tested("host/net/call-limiter", "is a fixed window that starts at the first call in it"),
  "§9 Consumed before the handler": wire("control-plane", "including calls refused for their hash"),
  "§9 Error": tested("host/net/limits", "the refusal is exact"),
  "§9 config.apply, config.patch": wire("control-plane", "config.patch and config.apply share 3 per 60 s"),
  "§9 update.run": later("update events"),

  "§10 Order: plugin routes": tested("host/net/http", "may answer before routing and before auth, or pass"),
  "§10 Order: hooks": tested("host/webhooks/ingress", "the hook httpRequest runs as for every other path"),
  "§10 Order: tools/invoke, /v1": later("tools/invoke and the public APIs"),
  "§10 Order: canvas": later("canvas"),
  "§10 Order: control panel": later("control panel files"),
  "§10 404 (choice: JSON)": tested("host/net/http", "that does not exist is 404, with a message"),
  "§10 500 (choice: JSON with an id)": tested("host/net/http-answer", "is 500 with a correlation id, leaks nothing"),
  "§10 Upgrade skips the pipeline": http("a websocket upgrade on the path of a route skips the pipeline"),
  "§10 Probes": http("the liveness and readiness probe"),
  "§10 /health, /ready, /readyz": http("the liveness and readiness probe"),
  "§10 Canvas paths": later("canvas"),
};

function shared(): Row {
  return all(
    tested("host/auth/shared-secret", "the message of a refusal"),
    wire("credentials", "AUTH_TOKEN_MISMATCH"),
    wire("device", "PAIRING_REQUIRED", "DEVICE_AUTH_SIGNATURE_INVALID"),
  );
}
