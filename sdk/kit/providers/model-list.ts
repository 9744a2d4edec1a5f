/** For plugins that call model servers: the list of a server's models, read with bounds. */
import type { ModelChoice, ProviderAccount } from "@svc/sdk/models";
import { readBody } from "../body.ts";
import { providerName, readable, refuseAnswer } from "./failures.ts";

/** Maximum models of a list; further models are left out. */
const MAX_LISTED_MODELS = 5_000;
/** Maximum bytes of a list, all of its pages together. */
const MAX_LIST_BYTES = 10_000_000;
/** Choice: maximum pages of a list; servers send up to 1,000 models per page. */
const MAX_LIST_PAGES = 50;

/** One page of a list. */
export interface ModelPage {
  readonly models: readonly ModelChoice[];
  /** Address or token of the next page; absent: the last page. */
  readonly next?: string | undefined;
}

/**
 * Reads a list page by page, without duplicates.
 * @param ask requests a page; `next` is that of the page before, `undefined` for the first page
 * @param read converts the parsed body of a page; any error in it counts as a malformed list
 * @throws GatewayError `UNAVAILABLE` for a list that is malformed, larger than 10 MB or longer than 50 pages; errors of
 *   `ask` and of the connection
 */
export async function readModelList(
  account: Pick<ProviderAccount, "name">,
  ask: (next: string | undefined) => Promise<Pick<Response, "body">>,
  read: (body: unknown) => ModelPage,
): Promise<readonly ModelChoice[]> {
  const source = providerName(account);
  const models = new Map<string, ModelChoice>();
  let next: string | undefined;
  let left = MAX_LIST_BYTES;
  for (let page = 0; page < MAX_LIST_PAGES; page += 1) {
    const bytes = await readBody(await ask(next), left, () =>
      refuseAnswer("server_error", `the list of models of ${source} is larger than ${MAX_LIST_BYTES / 1_000_000} MB`),
    );
    left -= bytes.length;
    const found = readable(source, () => read(JSON.parse(bytes.toString("utf8"))));
    for (const model of found.models) {
      if (models.size < MAX_LISTED_MODELS && !models.has(model.id)) models.set(model.id, model);
    }
    next = found.next;
    if (next === undefined || models.size >= MAX_LISTED_MODELS) return [...models.values()];
  }
  return refuseAnswer("server_error", `the list of models of ${source} has more than ${MAX_LIST_PAGES} pages`);
}

/** A listed model, from the fields that a server may leave out. */
export interface ListedModel {
  readonly id: unknown;
  readonly name?: unknown;
  /** The first positive integer counts. */
  readonly contextWindow?: readonly unknown[];
  readonly reasoning?: unknown;
  readonly input?: readonly string[] | undefined;
}

/** `undefined` without a usable id, so that one odd entry does not hide the other models. */
export function listedModel(
  account: Pick<ProviderAccount, "name">,
  { id, name, contextWindow = [], reasoning, input }: ListedModel,
): ModelChoice | undefined {
  if (typeof id !== "string" || id === "") return undefined;
  const [provider = account.name] = account.name.split(":");
  const window = contextWindow.find((tokens): tokens is number => Number.isSafeInteger(tokens) && Number(tokens) > 0);
  return {
    id,
    name: typeof name === "string" && name.trim() !== "" ? name : id,
    provider,
    ...(window === undefined ? {} : { contextWindow: window }),
    ...(typeof reasoning === "boolean" ? { reasoning } : {}),
    ...(input === undefined ? {} : { input: [...input] }),
  };
}

/** The models of an array; `convert` returns `undefined` for entries to leave out. @throws TypeError if `entries` is no array */
export function modelsIn(
  entries: unknown,
  convert: (entry: Readonly<Record<string, unknown>>) => ModelChoice | undefined,
): ModelChoice[] {
  if (!Array.isArray(entries)) throw new TypeError("the list of models is not an array");
  return entries.flatMap((entry: unknown) => convert(Object(entry) as Readonly<Record<string, unknown>>) ?? []);
}
