/** Connects a command to its gateway: with a secret, else with the local key in the state directory, else as a paired device. */
import { namesNextStep } from "@svc/sdk/cli";
import { type ClientOptions, connect, gatewayAddress, type GatewayClient, isLoopbackHost } from "@svc/sdk/client";
import { detailsCode, GatewayError, isGatewayError, withNextStep } from "@svc/sdk/errors";
import type { Scope } from "@svc/sdk";
import { resolvePaths } from "@svc/host/state";
import { Unreachable, WrongUsage } from "./output.ts";
import { VERSION } from "./package-json.ts";
import { DEFAULT_PORT, lastStarted, resolveTarget, type Target, type TargetFlags } from "./target.ts";

/** @throws WrongUsage for an invalid address; Unreachable, naming the command that starts a gateway; GatewayError when the gateway refuses */
export async function connectTo(target: Target, options: Partial<ClientOptions> = {}): Promise<GatewayClient> {
  if (!gatewayAddress(target.url))
    throw new WrongUsage(`"${target.url}" is not a gateway address; use the form ws://127.0.0.1:${DEFAULT_PORT}`);
  try {
    return await tryInTurn(target, options);
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    const { url: other } = lastStarted(resolvePaths().startupReport);
    if (detailsCode(error) !== "UNREACHABLE") {
      const wasPaired = detailsCode(error) === "AUTH_DEVICE_TOKEN_MISMATCH"; // with this gateway, from this state directory
      const isElsewhere =
        other === undefined && !target.isExplicit && !wasPaired && isLocal(target.url) && isAboutCredentials(error);
      throw withNextLine(error, isElsewhere ? resolvePaths().stateDir : undefined);
    }
    const known = other !== undefined && other !== target.url ? ` (last gateway started here: --url ${other})` : "";
    const next = `start it with: svc gateway run, or choose another gateway with --url${known}`;
    const { code, message, details } = error;
    throw new Unreachable(code, `${message}\nNext: ${next}`, { details, cause: error });
  }
}

/** Connects to the gateway named by flags and environment, runs `work`, and closes the connection even after an error. */
export async function atGateway<T>(
  flags: TargetFlags,
  work: (client: GatewayClient) => Promise<T>,
  options?: Partial<ClientOptions>,
): Promise<T> {
  const client = await connectTo(await resolveTarget(flags, process.env), options);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

interface Attempt extends Pick<ClientOptions, "token" | "password" | "device" | "deviceToken" | "scopes"> {
  /** Deletes the stored credential after a permanent refusal. */
  readonly forget?: () => void;
}

/** If every attempt is refused, throws the first refusal: it concerns the credential the user configured. */
async function tryInTurn(target: Target, options: Partial<ClientOptions>): Promise<GatewayClient> {
  const { url, tlsFingerprint } = target;
  const at = { url, ...(tlsFingerprint === undefined ? {} : { tlsFingerprint }) };
  let first: unknown;
  for await (const { forget, ...credentials } of attemptsFor(target, options.scopes)) {
    try {
      return await connect({ ...at, ...options, ...credentials, client: { version: VERSION, ...options.client } });
    } catch (error) {
      first ??= error;
      if (!isGatewayError(error) || !isAboutCredentials(error)) throw error;
      if (detailsCode(error) === "AUTH_DEVICE_TOKEN_MISMATCH") forget?.();
    }
  }
  throw first;
}

/** Yields at least one attempt; each is built only after the previous ones were refused. */
async function* attemptsFor(target: Target, scopes: readonly string[] | undefined): AsyncGenerator<Attempt> {
  const { token, password, localKey, isExplicit } = target;
  const hasSecret = Boolean(token ?? password);
  if (hasSecret) yield { ...(token ? { token } : {}), ...(password ? { password } : {}) };
  if (isExplicit) return;
  if (localKey) yield { token: localKey };
  const device = await asDevice(target, scopes);
  if (device) yield device;
  else if (!hasSecret && !localKey) yield {};
}

/**
 * Only if the gateway at this address issued a token to this device (`svc pairing join`). Requests no scope that the token
 * lacks: the gateway would refuse it like a wrong token. A method that needs a missing scope reports it.
 */
async function asDevice(
  { url, identityDir }: Target,
  wanted: readonly string[] | undefined,
): Promise<Attempt | undefined> {
  const [{ coversScope }, { keepDeviceToken, readDevice, readDeviceToken }] = await Promise.all([
    import("@svc/sdk"),
    import("@svc/sdk/device"),
  ]);
  const kept = readDeviceToken(identityDir, url, "operator");
  const device = kept && readDevice(identityDir);
  const forget = () => keepDeviceToken(identityDir, url, "operator", undefined);
  const held = (scope: string) => coversScope(kept?.scopes ?? [], scope as Scope); // an unknown scope is not covered
  const scopes = wanted ? wanted.filter(held) : kept?.scopes;
  return device && { device, deviceToken: () => kept.token, scopes: scopes ?? [], forget };
}

/** Includes a refusal by a plugin (`CONNECT_DENIED`): it does not rule out the local key or the device. */
function isAboutCredentials(error: GatewayError): boolean {
  if (error.code === "NOT_PAIRED") return true;
  const code = detailsCode(error);
  return code === "CONNECT_DENIED" || code?.startsWith("AUTH_") === true;
}

function isLocal(url: string): boolean {
  const address = gatewayAddress(url);
  return address !== undefined && isLoopbackHost(address.hostname);
}

/**
 * Appends a "Next:" line: the step the gateway named, else the one in the error catalogue.
 * @param stateDir set if no gateway was started on it; the refusing gateway then probably uses another state directory
 */
function withNextLine(error: GatewayError, stateDir: string | undefined): GatewayError {
  const { code, message, details, retryAfterMs } = error;
  const { nextStep } = Object(withNextStep(details)) as { nextStep?: unknown };
  if (typeof nextStep !== "string" || namesNextStep(message)) return error;
  const [why, first] =
    stateDir === undefined
      ? [message, ""]
      : [
          `${message}; no gateway was started on ${stateDir}`,
          "set SVC_STATE_DIR to the state directory of that gateway; or ",
        ];
  return new GatewayError(code, `${why}\nNext: ${first}${nextStep}`, {
    details,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}
