/** Files that wait in memory until a person consents to store them in their OneDrive. */
import { type Clock, invalidRequest, matches, notFound, unavailable } from "@svc/sdk";
import { Consent } from "./activity.ts";
import { isWithin, type Settings } from "./config.ts";
import { ask, type RequestContext } from "./http.ts";

const MAX_FILES = 20;
const MAX_BYTES = 100_000_000;
const MAX_AGE_MS = 60 * 60_000;

export function createFiles(clock: Pick<Clock, "elapsed">) {
  const files = new Map<string, { readonly place: string; readonly bytes: Uint8Array; readonly at: number }>();
  /** Forgets files that have waited too long, and the oldest ones above the limits. */
  const prune = () => {
    let total = 0;
    for (const [index, [id, { bytes, at }]] of [...files].reverse().entries()) {
      total += bytes.byteLength;
      if (index >= MAX_FILES || total > MAX_BYTES || clock.elapsed() - at > MAX_AGE_MS) files.delete(id);
    }
  };
  return {
    prune,
    /** @param place account and conversation in which the person is asked */
    add(id: string, place: string, bytes: Uint8Array): void {
      files.delete(id);
      files.set(id, { place, bytes, at: clock.elapsed() });
      prune();
    },
    /** @returns the stored file; `undefined`: the person declined. @throws GatewayError; the person can press again */
    async answered(consent: unknown, place: string, { fileUrls }: Settings, request: RequestContext) {
      prune();
      if (!matches(Consent, consent)) return invalidRequest("the answer to a consent card is malformed");
      const { action, uploadInfo, context } = consent;
      const file = files.get(context.fileId);
      if (file?.place !== place || (action === "accept" && !uploadInfo)) return notFound("the file is no longer there");
      if (action === "accept" && uploadInfo) await upload(file.bytes, uploadInfo.uploadUrl, fileUrls, request);
      files.delete(context.fileId);
      return action === "accept" ? uploadInfo : undefined;
    },
  };
}

async function upload(body: Uint8Array, url: string, fileUrls: readonly string[], request: RequestContext) {
  if (!isWithin(url, fileUrls)) invalidRequest("the file store is outside fileUrls; next: add its address to fileUrls");
  const range = `bytes 0-${body.byteLength - 1}/${body.byteLength}`;
  const headers = { "content-type": "application/octet-stream", "content-range": range };
  const { status } = await ask({ url, who: "OneDrive", method: "PUT", headers, body, ms: 60_000 }, request);
  if (status >= 300) unavailable(`OneDrive did not store the file (status ${status})`);
}
