/** Connects a command to its gateway: by a secret, else by access to the state directory, else as the device this machine is. */
import { namesNextStep } from "@svc/sdk/cli";
import { type ClientOptions, connect, gatewayAddress, type GatewayClient, isLoopbackHost } from "@svc/sdk/client";
import { detailsCode, GatewayError, isGatewayError, withNextStep } from "@svc/sdk/errors";
import type { Scope } from "@svc/sdk";
import { resolvePaths } from "@svc/host/state";
import { Unreachable, WrongUsage } from "./output.ts";
import { VERSION } from "./package-json.ts";
import { DEFAULT_PORT, lastStarted, resolveTarget, type Target, type TargetFlags } from "./target.ts";

/** @throws WrongUsage the address is none; Unreachable with the command that starts a gateway; GatewayError its refusal */
export async function connectTo(target: Target, options: Partial<ClientOptions> = {}): Promise<GatewayClient> {
  if (!gatewayAddress(target.url))
    throw new WrongUsage(`"${target.url}" is no address of a gateway; write it like ws://127.0.0.1:${DEFAULT_PORT}`);
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
    const known = other !== undefined && other !== target.url ? ` (the last one started here: --url ${other})` : "";
    const next = `start it with: svc gateway run, or name another one with --url${known}`;
    const { code, message, details } = error;
    throw new Unreachable(code, `${message}\nNext: ${next}`, { details, cause: error });
  }
}

/** Connects to the gateway that flags and environment name, runs `work`, and closes whatever comes of it. */
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

interface Way extends Pick<ClientOptions, "token" | "password" | "device" | "deviceToken" | "scopes"> {
  /** It was refused for good. */
  readonly forget?: () => void;
}

/** The first refusal counts where the other ways are refused as well: it is about what somebody configured. */
async function tryInTurn(target: Target, options: Partial<ClientOptions>): Promise<GatewayClient> {
  const { url, tlsFingerprint } = target;
  const at = { url, ...(tlsFingerprint === undefined ? {} : { tlsFingerprint }) };
  let first: unknown;
  for await (const { forget, ...way } of waysIn(target, options.scopes)) {
    try {
      return await connect({ ...at, ...options, ...way, client: { version: VERSION, ...options.client } });
    } catch (error) {
      first ??= error;
      if (!isGatewayError(error) || !isAboutCredentials(error)) throw error;
      if (detailsCode(error) === "AUTH_DEVICE_TOKEN_MISMATCH") forget?.();
    }
  }
  throw first;
}

/** At least one; each is made when the ones before it were refused. */
async function* waysIn(target: Target, scopes: readonly string[] | undefined): AsyncGenerator<Way> {
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
 * Only where the gateway at this address gave the device a token: svc pairing join. It asks for no scope the token does not
 * have, which would be refused like a wrong token; what lacks one is told by the method.
 */
async function asDevice({ url, identityDir }: Target, wanted: readonly string[] | undefined): Promise<Way | undefined> {
  const [{ coversScope }, { keepDeviceToken, readDevice, readDeviceToken }] = await Promise.all([
    import("@svc/sdk"),
    import("@svc/sdk/device"),
  ]);
  const kept = readDeviceToken(identityDir, url, "operator");
  const device = kept && readDevice(identityDir);
  const forget = () => keepDeviceToken(identityDir, url, "operator", undefined);
  const held = (scope: string) => coversScope(kept?.scopes ?? [], scope as Scope); // a scope nobody knows is not covered
  const scopes = wanted ? wanted.filter(held) : kept?.scopes;
  return device && { device, deviceToken: () => kept.token, scopes: scopes ?? [], forget };
}

/** Or a plugin turned it down, which says nothing about who can read the state directory. */
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
 * What the gateway, or else the catalogue, says to do next, as a line of its own.
 * @param stateDir set where no gateway was started on it: the one that refuses is likely that of another state directory
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
          "name the state directory of this gateway with SVC_STATE_DIR; or ",
        ];
  return new GatewayError(code, `${why}\nNext: ${first}${nextStep}`, {
    details,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}
