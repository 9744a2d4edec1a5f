/** What to do about a refused `connect`, by `error.details.code`: commands to type, for `details.nextStep`. Spec: protocol/frames-and-connect.md §5-§9. */

const TOKEN =
  "on the gateway's machine: svc gateway token; connect with what it prints (--token, or SVC_GATEWAY_TOKEN)";
const PASSWORD = "connect with the gateway's password (--password, or SVC_GATEWAY_PASSWORD)";
const BECOME_KNOWN = "svc pairing join --url <url of the gateway> --token <token>; svc gateway token prints it there";
const PROXY = "log in at the proxy, or on the gateway's machine: svc devices list";
const NEW_KEY = "connect again; if it stays so, move identity/device.json of the client away, then: svc pairing join";

/** Every code a refused `connect` may carry, but those plugins make up. */
export const CONNECT_NEXT_STEPS: Readonly<Record<string, string>> = {
  CONNECT_FIRST: "send connect as the first request, with what connect.challenge brought",
  CONNECT_PARAMS_INVALID: "correct the params of connect, or update the client",
  ROLE_INVALID: 'connect with role "operator" or "node"',
  ORIGIN_NOT_ALLOWED:
    "on the gateway's machine: svc config set gateway.controlUi.allowedOrigins '[\"<origin of the page>\"]'",
  PROTOCOL_MISMATCH: "update whichever of the client and the gateway is older",
  AUTH_REQUIRED: TOKEN,
  AUTH_UNAUTHORIZED: PROXY,
  AUTH_TOKEN_MISSING: TOKEN,
  AUTH_TOKEN_MISMATCH: TOKEN,
  AUTH_TOKEN_NOT_CONFIGURED: "on the gateway's machine: svc config set gateway.auth.token <token>",
  AUTH_PASSWORD_MISSING: PASSWORD,
  AUTH_PASSWORD_MISMATCH: PASSWORD,
  AUTH_PASSWORD_NOT_CONFIGURED: "on the gateway's machine: svc config set gateway.auth.password <password>",
  AUTH_DEVICE_TOKEN_MISMATCH: BECOME_KNOWN,
  AUTH_RATE_LIMITED:
    "wait until the lock is over (5 minutes, or gateway.auth.rateLimit.lockoutMs), then use the right credential; on the gateway's machine svc devices list works meanwhile",
  DEVICE_IDENTITY_REQUIRED: `pass --token, or set SVC_GATEWAY_TOKEN (svc gateway token prints it on the gateway's machine); a device gets one of its own with: ${BECOME_KNOWN}`,
  CONTROL_UI_DEVICE_IDENTITY_REQUIRED: "open the panel over HTTPS, or at http://localhost on the gateway's machine",
  PAIRING_REQUIRED: "on the gateway's machine: svc devices list, then svc devices approve <request id>",
  DEVICE_AUTH_SIGNATURE_EXPIRED: "set the clock of the client; it is more than two minutes off",
  DEVICE_AUTH_DEVICE_ID_MISMATCH: NEW_KEY,
  DEVICE_AUTH_NONCE_REQUIRED: "sign the nonce of connect.challenge, or update the client",
  DEVICE_AUTH_NONCE_MISMATCH: "connect again; each connection has a challenge of its own",
  DEVICE_AUTH_SIGNATURE_INVALID: NEW_KEY,
  DEVICE_AUTH_PUBLIC_KEY_INVALID: NEW_KEY,
  DEVICE_AUTH_INVALID: NEW_KEY,
  CONNECT_DENIED: "on the gateway's machine: svc plugins list; a plugin turned the connection down",
};

/** `details` of a refusal with what to do next; as they are where they say so already, or where nothing is known. */
export function withNextStep(details: unknown): unknown {
  if (typeof details !== "object" || details === null) return details;
  const { code, nextStep } = details as { code?: unknown; nextStep?: unknown };
  if (nextStep !== undefined || typeof code !== "string" || !Object.hasOwn(CONNECT_NEXT_STEPS, code)) return details;
  return { ...details, nextStep: CONNECT_NEXT_STEPS[code] };
}
