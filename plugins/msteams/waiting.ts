/** Files that wait for the consent of a person, in memory. */
import { type Clock, invalidRequest, unavailable } from "@svc/sdk";
import type { Consent } from "./activity.ts";
import { isWithin } from "./config.ts";
import { ask, type RequestContext } from "./http.ts";

const MAX_FILES = 20;
const MAX_BYTES = 100_000_000;
const MAX_AGE_MS = 60 * 60_000;

export interface WaitingFile {
  /** Conversation and account in which the person was asked. */
  readonly place: string;
  readonly name: string;
  readonly bytes: Uint8Array;
}

export interface Waiting {
  get(id: string, place: string): WaitingFile | undefined;
  /** The oldest files make room. */
  add(id: string, file: WaitingFile): void;
  delete(id: string): void;
  /** Forgets files that have waited too long. */
  prune(): void;
}

export function createWaiting(clock: Pick<Clock, "elapsed">): Waiting {
  const files = new Map<string, WaitingFile & { readonly at: number }>();
  const prune = () => {
    let total = 0;
    for (const [index, [id, { bytes, at }]] of [...files].reverse().entries()) {
      total += bytes.byteLength;
      if (index >= MAX_FILES || total > MAX_BYTES || clock.elapsed() - at > MAX_AGE_MS) files.delete(id);
    }
  };
  return {
    prune,
    get(id, place) {
      prune();
      const file = files.get(id);
      return file?.place === place ? file : undefined;
    },
    add(id, file) {
      files.delete(id);
      files.set(id, { ...file, at: clock.elapsed() });
      prune();
    },
    delete: (id) => void files.delete(id),
  };
}

/** Stores a file in the OneDrive of the person. @throws GatewayError `INVALID_REQUEST`, `UNAVAILABLE` */
export async function upload(
  { bytes, name }: WaitingFile,
  { uploadUrl }: NonNullable<Consent["uploadInfo"]>,
  fileUrls: readonly string[],
  context: RequestContext,
): Promise<void> {
  if (!isWithin(uploadUrl, fileUrls))
    invalidRequest("Teams named a file store outside fileUrls; next: add its address to fileUrls");
  const size = bytes.byteLength;
  const headers = { "content-type": "application/octet-stream", "content-range": `bytes 0-${size - 1}/${size}` };
  const { status } = await ask(
    { url: uploadUrl, who: "OneDrive", method: "PUT", headers, body: bytes, ms: 60_000 },
    context,
  );
  if (status >= 300) unavailable(`OneDrive did not store "${name}" (status ${status})`);
}
