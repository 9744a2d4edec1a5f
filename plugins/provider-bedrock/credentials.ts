/** Which server is called, and with which credentials. */
import { providerName, providerSettingsPath, refuseAnswer } from "@svc/kit/providers";
import { type Clock, lazy } from "@svc/sdk";
import type { ProviderAccount } from "@svc/sdk/models";

/** Environment variables of this plugin, named as Amazon's own tools name them. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface Server {
  /** Without a slash at the end. */
  readonly address: string;
  /** Address of the control plane, which lists models. */
  readonly control: string;
  /** `undefined`: needed for signatures only. */
  readonly region: string | undefined;
}

const HOST = /^bedrock(?:-runtime)?((?:-fips)?)\.([a-z0-9-]+)\.(amazonaws\.com(?:\.cn)?|api\.aws)$/u;

/**
 * The servers of an account. Choice: an address of another form, e.g. of a proxy, serves the control plane, too.
 * @throws GatewayError `UNAVAILABLE` if neither the account nor the environment names a region
 */
export function serverOf(account: ProviderAccount, env: Environment): Server {
  const configured = env["AWS_REGION"] || env["AWS_DEFAULT_REGION"] || undefined;
  const { baseUrl } = account;
  if (baseUrl === undefined) {
    if (configured === undefined) {
      const where = providerSettingsPath(account);
      const example = "https://bedrock-runtime.us-east-1.amazonaws.com";
      return refuseAnswer(
        "network",
        `${providerName(account)} has no region: set ${where}.baseUrl, e.g. ${example}, or the environment variable AWS_REGION`,
      );
    }
    return serverOf({ ...account, baseUrl: `https://bedrock-runtime.${configured}.amazonaws.com` }, env);
  }
  const address = baseUrl.replace(/\/+$/u, "");
  const [, fips = "", region, domain] = (URL.canParse(address) ? HOST.exec(new URL(address).hostname) : null) ?? [];
  if (region === undefined) return { address, control: address, region: configured };
  return { address, control: `https://bedrock${fips}.${region}.${domain}`, region };
}

/** Request headers that are not credentials. */
export interface SignedRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

const library = lazy(() => import("aws4fetch"));

/**
 * The headers of a request with its credentials: a Bedrock API key, else an `authorization` header of the account, else a
 * signature with the access key of the environment. Choice: no profiles and no instance roles, which would need files or
 * requests of their own.
 * @throws GatewayError `UNAVAILABLE` of kind `auth` if there are no credentials, or a signature has no region
 */
export async function withCredentials(
  request: SignedRequest,
  account: ProviderAccount,
  { region }: Pick<Server, "region">,
  { clock, env }: { readonly clock: Pick<Clock, "now">; readonly env: Environment },
): Promise<Headers> {
  const headers = new Headers(request.headers);
  if (account.apiKey !== undefined) headers.set("authorization", `Bearer ${account.apiKey}`);
  for (const [name, value] of Object.entries(account.headers ?? {})) headers.set(name, value);
  if (headers.has("authorization")) return headers;
  const [accessKeyId, secretAccessKey, sessionToken] = keysIn(env);
  const who = providerName(account);
  const where = providerSettingsPath(account);
  if (!accessKeyId || !secretAccessKey) {
    return refuseAnswer(
      "auth",
      `${who} has no credentials: set ${where}.apiKey to a Bedrock API key, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment of the gateway`,
    );
  }
  if (region === undefined) {
    return refuseAnswer("auth", `${who} needs a region for its signature: set the environment variable AWS_REGION`);
  }
  const { AwsV4Signer } = await library();
  const signer = new AwsV4Signer({
    ...request,
    headers,
    accessKeyId,
    secretAccessKey,
    ...(sessionToken ? { sessionToken } : {}),
    service: "bedrock",
    region,
    datetime: new Date(clock.now()).toISOString().replace(/[:-]|\.\d{3}/gu, ""),
  });
  return (await signer.sign()).headers;
}

/** What to check if the server refuses the credentials. */
export function credentialsOf(account: ProviderAccount): string {
  const headers = Object.keys(account.headers ?? {}).map((name) => name.toLowerCase());
  if (account.apiKey !== undefined || headers.includes("authorization"))
    return `${providerSettingsPath(account)}.apiKey`;
  return "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN in the environment of the gateway";
}

/** Values of the environment that an error message must not contain. */
export function secretsOf(env: Environment): string[] {
  return keysIn(env).filter((value) => value !== undefined);
}

/** Access key, secret key and session token. */
function keysIn(env: Environment): readonly [string | undefined, string | undefined, string | undefined] {
  return [env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"], env["AWS_SESSION_TOKEN"]];
}
