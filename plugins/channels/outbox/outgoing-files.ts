/** Files to send: loaded from URLs, data URLs and the workspace of an agent, checked against the channel, and stored for the outbox. */
import { createHash } from "node:crypto";
import { mediaKindOf } from "@svc/kit/channels";
import { basename } from "node:path";
import { nameWithin, type Place, readWithin } from "@svc/kit/files";
import { loadMedia, sourceOfUrl } from "@svc/kit/media";
import { type Clock, invalidRequest, notFound } from "@svc/sdk";
import type { ChannelCapabilities, MediaKind, OutboundMedia } from "@svc/sdk/channels";
import { externalLine } from "@svc/sdk/external-content";
import type { OutboundFetch } from "@svc/sdk/web";
import type { MediaStore } from "../media-store.ts";

/** Default maximum bytes of a file. */
export const MAX_MEDIA_BYTES = 8_000_000;
/** Choice: files of one message. */
export const MAX_FILES = 10;
/** Choice: milliseconds for one fetch. */
const FETCH_MS = 60_000;
const MAX_REDIRECTS = 3;
const MAX_NAME_CHARS = 120;

const TYPES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  mp3: "audio/mpeg",
  m4a: "audio/mp4",
  ogg: "audio/ogg",
  oga: "audio/ogg",
  opus: "audio/ogg",
  wav: "audio/wav",
  mp4: "video/mp4",
  webm: "video/webm",
  pdf: "application/pdf",
  txt: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  json: "application/json",
  zip: "application/zip",
};
const GENERIC = "application/octet-stream";

export interface FileScene {
  readonly label: string;
  readonly capabilities: Pick<ChannelCapabilities, "media" | "maxMediaBytes" | "voice">;
  readonly outbound: OutboundFetch | undefined;
  /** Workspace of the agent; absent: only URLs are allowed. */
  readonly place?: Place | undefined;
  readonly isVoice?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Loads the files, in order.
 * @param names `http(s)` and data URLs, and paths in the workspace
 * @throws GatewayError `INVALID_REQUEST` naming the file and the limit; `NOT_FOUND`; `UNAVAILABLE`
 */
export async function loadFiles(names: readonly string[], scene: FileScene): Promise<readonly OutboundMedia[]> {
  if (names.length === 0) return [];
  const { media = [], voice = false } = scene.capabilities;
  if (media.length === 0) invalidRequest(`${scene.label} does not support files; put the URL into the message`);
  if (names.length > MAX_FILES) invalidRequest(`at most ${MAX_FILES} files are sent in one message`);
  const files: OutboundMedia[] = [];
  for (const name of names) {
    const { bytes, mimeType, fileName } = await load(name, scene);
    const kind = kindFor(mediaKindOf(mimeType), media);
    if (kind === undefined) invalidRequest(`${scene.label} does not support files of type ${mimeType}: ${fileName}`);
    const isVoice = scene.isVoice === true && voice && kind === "audio";
    files.push({ kind, bytes, name: fileName, mimeType, ...(isVoice ? { isVoice } : {}) });
  }
  return files;
}

/** Stores files for the outbox. @param id of the message; may be used again with other files @returns the ids of the files */
export async function storeFiles(
  id: string,
  files: readonly OutboundMedia[],
  { store, clock }: { readonly store: Pick<MediaStore, "add">; readonly clock: Pick<Clock, "now"> },
): Promise<readonly string[]> {
  const ids = files.map(
    ({ bytes }, index) => `out:${id}:${index}:${createHash("sha256").update(bytes).digest("hex").slice(0, 16)}`,
  );
  for (const [index, file] of files.entries()) await store.add(ids[index] ?? "", file, clock.now());
  return ids;
}

interface Loaded {
  readonly bytes: Uint8Array;
  readonly mimeType: string;
  readonly fileName: string;
}

async function load(name: string, scene: FileScene): Promise<Loaded> {
  const { outbound, place, signal, capabilities } = scene;
  const maxBytes = capabilities.maxMediaBytes ?? MAX_MEDIA_BYTES;
  if (/^(?:https?|data):/i.test(name)) {
    const limits = { allowUrl: true, maxBytes, maxRedirects: MAX_REDIRECTS, timeoutMs: FETCH_MS };
    const { bytes, mimeType } = await loadMedia(sourceOfUrl(name), limits, outbound, signal);
    const path = name.startsWith("data:") ? "" : basename(new URL(name).pathname);
    const type = mimeType === GENERIC ? typeOf(path) : mimeType;
    return { bytes, mimeType: type, fileName: nameFor(decoded(path), type) };
  }
  if (/^[a-z][a-z0-9+.-]*:/i.test(name))
    invalidRequest("only http, https and data URLs, and paths in the workspace, are allowed");
  if (!place) return invalidRequest(`"${externalLine(name, MAX_NAME_CHARS)}" is not an http, https or data URL`);
  const found = await readWithin(place.root, nameWithin(name, place), maxBytes);
  if (!found) return notFound(`no file ${externalLine(name, MAX_NAME_CHARS)} in the workspace; use a path below it`);
  if (found.isCut) invalidRequest(`${name} has ${found.stats.size} bytes; ${scene.label} accepts at most ${maxBytes}`);
  const mimeType = typeOf(name);
  return { bytes: found.bytes, mimeType, fileName: nameFor(basename(name), mimeType) };
}

function typeOf(name: string): string {
  return TYPES[name.split(".").at(-1)?.toLowerCase() ?? ""] ?? GENERIC;
}

/** The kind itself, or a plain file where the channel has only those. */
export function kindFor(kind: MediaKind, supported: readonly MediaKind[]): MediaKind | undefined {
  return supported.includes(kind) ? kind : supported.includes("file") ? "file" : undefined;
}

function nameFor(name: string, mimeType: string): string {
  const shown = externalLine(name, MAX_NAME_CHARS).replaceAll(/[\\/]/g, "_");
  if (shown !== "") return shown;
  const extension = Object.entries(TYPES).find(([, type]) => type === mimeType)?.[0];
  return extension === undefined ? "file" : `file.${extension}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
