/** Authentication, and the details of a refusal. */
import { all, later, none, type Row, tested } from "./row.ts";

const wire = (file: string, ...names: string[]) => tested(`conformance/wire/${file}`, ...names);
const credential = (...names: string[]) => wire("credentials", ...names);
const device = (...names: string[]) => wire("device", ...names);
const proxy = (...names: string[]) => tested("host/auth/trusted-proxy", ...names);
const shared = (...names: string[]) => tested("host/auth/shared-secret", ...names);

export const credentialRows: Readonly<Record<string, Row>> = {
  "Modes: chosen": credential("a password wins over a token", "the environment suffices"),
  "Modes: config before env": credential("the configuration wins over the environment"),
  "Modes: token generated (choice: a private file, not the config)": all(
    credential("without any, a token is generated"),
    tested("host/auth/secret", "is generated once, readable only by its owner, and stored"),
  ),
  "Trimmed, blank is absent": credential("the token with blanks around it", "blanks only"),
  "Compared as digests in constant time": tested("host/auth/secret", "comparing secrets"),
  "Mode token": credential("the token", "another token", "the token as password", '"token_missing"'),
  "Mode token: missing config": shared("mode token without a token"),
  "Mode password (decided: also in auth.token)": credential(
    "the password in auth.token, by decision",
    "another password",
  ),
  "Mode password: missing": shared('"password_missing"'),
  "Mode password: missing config": shared("mode password without a password"),
  "Mode none": credential("an operator on this machine is admitted", "it admits neither remote clients nor nodes"),
  "Mode trusted-proxy": tested("host/net/trusted-proxy-wire", "admits the user that the proxy names, over both"),
  "Mode trusted-proxy: config_missing": proxy('"config_missing"'),
  "Mode trusted-proxy: no_proxies_configured": proxy('"no_proxies_configured"'),
  "Mode trusted-proxy: no_request": proxy('"no_request"'),
  "Mode trusted-proxy: untrusted_source": tested("host/net/trusted-proxy-wire", "trusted_proxy_untrusted_source"),
  "Mode trusted-proxy: missing_header": tested("host/net/trusted-proxy-wire", "trusted_proxy_missing_header_x-proof"),
  "Mode trusted-proxy: user_missing": tested("host/net/trusted-proxy-wire", "trusted_proxy_user_missing"),
  "Mode trusted-proxy: user_not_allowed": tested("host/net/trusted-proxy-wire", "trusted_proxy_user_not_allowed"),
  "Overlay identity": later("tailnet"),
  sharedAuthOk: tested("host/net/connect-rows", "§9 row 6: mode none from far away", "§9 row 4: an operator"),

  "Device token: candidate": device("device token in auth.token only", "device token in auth.deviceToken only"),
  "Device token: without a device": device("are not checked as device tokens without a device"),
  "Device token: role, revocation, coverage": tested(
    "plugins/devices/tokens",
    "is refused for another role, another device, without a proof, and with another value",
    "asking for [${asked.join",
  ),
  "Device token: success": device("bad shared token and good device token: admitted"),
  "Device token: failure reason": device("bad device token alone: its own code", "the shared reason"),
  "Precedence: good shared, bad device token": device("good shared token and bad device token: admitted"),
  "Precedence: bad shared, good device token": device("bad shared token and good device token: admitted"),
  "Precedence: in auth.token only": device("device token in auth.token only: admitted"),
  "Precedence: wider scopes": tested("plugins/devices/tokens", '[["admin"], [READ], false]', "AUTH_TOKEN_MISMATCH"),
  "Precedence: revoked": tested(
    "plugins/devices/methods",
    "revoke ends a token until the shared token brings a new one",
  ),
  "Client-side precedence": none("how existing clients choose; what they send is each a row above"),

  "Details: message starts with unauthorized, 1008, no retryAfterMs": credential(
    "AUTH_RATE_LIMITED, starting with unauthorized and without a retry time",
    "/^unauthorized/",
  ),
  "Details: AUTH_REQUIRED": shared('"AUTH_REQUIRED"'),
  "Details: AUTH_TOKEN_*": all(
    credential('"AUTH_TOKEN_MISSING"', '"AUTH_TOKEN_MISMATCH"'),
    shared('"AUTH_TOKEN_NOT_CONFIGURED"'),
  ),
  "Details: AUTH_PASSWORD_*": all(
    credential('"AUTH_PASSWORD_MISMATCH"'),
    shared('"AUTH_PASSWORD_MISSING"', '"AUTH_PASSWORD_NOT_CONFIGURED"'),
  ),
  "Details: AUTH_DEVICE_TOKEN_MISMATCH": device('"AUTH_DEVICE_TOKEN_MISMATCH"', "/device token mismatch/"),
  "Details: AUTH_RATE_LIMITED": credential('"AUTH_RATE_LIMITED"'),
  "Details: AUTH_TAILSCALE_*": later("tailnet"),
  "Details: AUTH_UNAUTHORIZED": tested("host/net/trusted-proxy-wire", '"AUTH_UNAUTHORIZED"'),
  "Other codes: CONTROL_UI_DEVICE_IDENTITY_REQUIRED": wire("device-presence", "CONTROL_UI_DEVICE_IDENTITY_REQUIRED"),
  "Other codes: DEVICE_IDENTITY_REQUIRED": wire("device-presence", '"DEVICE_IDENTITY_REQUIRED"'),
  "Other codes: PAIRING_REQUIRED": device('"PAIRING_REQUIRED"'),
  "Rate limiting": tested("host/net/limits", "over WebSocket: the lock has its own code, and no retryAfterMs"),
};
