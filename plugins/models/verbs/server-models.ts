/** Lists the models of a server with the chat-completions API: `GET <base>/models`. */
import { sameOriginFetch } from "@svc/kit/same-origin";
import { GatewayError, invalidRequest, isGatewayError, unavailable } from "@svc/sdk";
import { visible } from "@svc/sdk/cli";
import { messageOf } from "@svc/sdk/errors";
import { boundedJson, entriesIn, fieldOf, modelId } from "../discovery/bounded-json.ts";

/** Choice: timeout of the list in milliseconds. */
const LIST_TIMEOUT_MS = 15_000;
/** Maximum bytes and models of the list. */
const MAX_LIST_BYTES = 10_000_000;
const MAX_LISTED = 5_000;

export interface ServerModels {
  /** The address before `/chat/completions`. */
  readonly baseUrl: string;
  /** In the server's order, without duplicates. */
  readonly ids: readonly string[];
}

/**
 * Choice: the address is also tried with `/v1`, which people often leave out.
 * @param timeoutMs of each of the two requests; default 15,000
 * @throws GatewayError `UNAVAILABLE` no response; `INVALID_REQUEST` invalid address or key; `NOT_FOUND` no list of models
 */
export async function askForModels(
  address: string,
  key: string | undefined,
  timeoutMs: number = LIST_TIMEOUT_MS,
): Promise<ServerModels> {
  if (!URL.canParse(address) || !/^https?:\/\//i.test(address))
    invalidRequest(`"${visible(address)}" is not a server address\nNext: svc models add http://127.0.0.1:8080/v1`);
  const { username, password, search, hash } = new URL(address);
  if (username || password || search || hash)
    invalidRequest(
      "the address contains a user name, a query or a fragment; remove it, and pass the key with --key-env",
    );
  const plain = address.replace(/\/+$/, "");
  const bases = new URL(address).pathname === "/" ? [`${plain}/v1`, plain] : [plain, `${plain}/v1`];
  let refusal: GatewayError | undefined;
  for (const baseUrl of bases) {
    const found = await listAt(baseUrl, key, timeoutMs);
    if (!(found instanceof GatewayError)) return { baseUrl, ids: found };
    refusal ??= found;
  }
  throw refusal;
}

/** @returns the ids of the models; an error `NOT_FOUND` if another address may work */
async function listAt(
  baseUrl: string,
  key: string | undefined,
  timeoutMs: number,
): Promise<readonly string[] | GatewayError> {
  const url = `${baseUrl}/models`;
  const headers = { accept: "application/json", ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) };
  let status: number;
  let body: unknown;
  try {
    const response = await sameOriginFetch()(url, { headers, signal: AbortSignal.timeout(timeoutMs) });
    status = response.status;
    body = await boundedJson(response, MAX_LIST_BYTES, url).catch((error: unknown) => {
      if (!isGatewayError(error)) throw error;
      return undefined; // not a list of models
    });
  } catch (error) {
    if (isGatewayError(error)) throw error;
    const { cause } = error as { cause?: unknown };
    unavailable(
      `${url} does not respond: ${messageOf(cause ?? error)}\nNext: start the server, or correct the address`,
    );
  }
  if (status === 401 || status === 403) {
    const why = key === undefined ? "requires a key" : "rejects the key";
    const next = "export NAME_OF_YOUR_KEY=..., then svc models add <url> --key-env NAME_OF_YOUR_KEY";
    invalidRequest(`${url} ${why} (${status})\nNext: ${next}`);
  }
  const ids = status === 200 ? idsIn(body) : undefined;
  if (ids) return ids;
  const why = status === 200 ? "did not return a list of models" : `returned ${status}`;
  return new GatewayError(
    "NOT_FOUND",
    `${url} ${why}\nNext: use the address before /chat/completions; it usually ends in /v1`,
  );
}

function idsIn(body: unknown): readonly string[] | undefined {
  const data = fieldOf(body, "data");
  if (!Array.isArray(data)) return undefined;
  const ids = entriesIn(data, MAX_LISTED).map((entry) => modelId(fieldOf(entry, "id")));
  return [...new Set(ids.filter((id) => id !== undefined))];
}
