/** The models that an account may call: foundation models on demand, and inference profiles of the system. */
import { listedModel, modelsIn, type ModelPage, readModelList } from "@svc/kit/providers";
import type { ModelChoice, ProviderAccount } from "@svc/sdk/models";

const FOUNDATION = "/foundation-models?byOutputModality=TEXT";
const PROFILES = "/inference-profiles?maxResults=1000&type=SYSTEM_DEFINED";

/**
 * Two lists of the control plane, as one. The API does not report context windows.
 * @param get requests a path of the control plane
 */
export function readModels(
  account: ProviderAccount,
  get: (path: string) => Promise<Response>,
): Promise<readonly ModelChoice[]> {
  return readModelList(
    account,
    (next) => get(next ?? FOUNDATION),
    (body) => pageOf(account, body),
  );
}

function pageOf(account: ProviderAccount, body: unknown): ModelPage {
  const { modelSummaries, inferenceProfileSummaries, nextToken } = body as Readonly<Record<string, unknown>>; // from the wire; each field is checked
  if (inferenceProfileSummaries === undefined)
    return { models: foundationModels(account, modelSummaries), next: PROFILES };
  const models = modelsIn(inferenceProfileSummaries, ({ inferenceProfileId, inferenceProfileName, status }) =>
    status === undefined || status === "ACTIVE"
      ? listedModel(account, { id: inferenceProfileId, name: inferenceProfileName })
      : undefined,
  );
  const hasMore = typeof nextToken === "string" && nextToken !== "";
  return { models, next: hasMore ? `${PROFILES}&nextToken=${encodeURIComponent(nextToken)}` : undefined };
}

/** Models that are called by their own id, and streamed. */
function foundationModels(account: ProviderAccount, summaries: unknown): ModelChoice[] {
  return modelsIn(summaries, (entry) => {
    const { modelId, modelName, inferenceTypesSupported, responseStreamingSupported, inputModalities } = entry;
    if (responseStreamingSupported === false || !includes(inferenceTypesSupported, "ON_DEMAND")) return undefined;
    const input = includes(inputModalities, "IMAGE") ? ["text", "image"] : ["text"];
    return listedModel(account, { id: modelId, name: modelName, input });
  });
}

function includes(list: unknown, value: string): boolean {
  return Array.isArray(list) && list.includes(value);
}
