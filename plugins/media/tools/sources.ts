/** Loads the sources of a call: files of the agent's workspace, URLs and data URLs. */
import { nameWithin, type Place, readWithin } from "@svc/kit/files";
import { type LoadedMedia, loadMedia, sourceOfUrl } from "@svc/kit/media";
import { GatewayError, invalidRequest, isGatewayError, notFound } from "@svc/sdk";
import { externalLine } from "@svc/sdk/external-content";
import type { OutboundFetch } from "@svc/sdk/web";

/** Choice: maximum number of redirects, as the default of `/v1/responses`. */
const MAX_REDIRECTS = 3;

/** Where sources are loaded from, and with which limits. */
export interface SourceScene {
  /** The agent's workspace; absent: the agent has no workspace yet. */
  readonly place: Place | undefined;
  readonly outbound: OutboundFetch | undefined;
  /** Bytes of one source. */
  readonly maxBytes: number;
  /** Milliseconds per fetch. */
  readonly timeoutMs: number;
  /** Accepted types of fetched content and of data URLs, lower case. The bytes then decide the actual type. */
  readonly allowedMimes: readonly string[];
  readonly signal: AbortSignal;
}

/** A loaded source. */
export interface Source {
  /** One line for people and models. */
  readonly label: string;
  /** The source was fetched, so its content is external. */
  readonly isFetched: boolean;
  /** Path below the workspace, if the source is a file there. */
  readonly file?: string;
  readonly bytes: Uint8Array;
}

/**
 * Loads all sources, one after the other.
 * @throws GatewayError naming the source that could not be loaded: `INVALID_REQUEST`, `NOT_FOUND`, `UNAVAILABLE`
 */
export async function loadSources(names: readonly string[], scene: SourceScene): Promise<readonly Source[]> {
  const sources: Source[] = [];
  for (const [index, name] of names.entries()) {
    const label = labelOf(name, index + 1);
    sources.push({ label, ...(await naming(label, () => load(name, scene))) });
  }
  return sources;
}

/** Characters of a name in labels. */
const MAX_LABEL = 200;

function labelOf(name: string, number: number): string {
  return isDataUrl(name) ? `data URL ${number}` : externalLine(name, MAX_LABEL);
}

/** Runs `work` and adds the label of the source to its errors. */
export async function naming<T>(label: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    const { details, retryAfterMs } = error;
    const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
    throw new GatewayError(error.code, `${label}: ${error.message}`, { details, cause: error, ...wait });
  }
}

const isDataUrl = (name: string) => /^data:/i.test(name);
/** Whether the source is fetched. */
export const isAddress = (name: string) => /^https?:/i.test(name);
const hasScheme = (name: string) => /^[a-z][a-z0-9+.-]*:/i.test(name);

async function load(name: string, scene: SourceScene): Promise<Omit<Source, "label">> {
  if (isDataUrl(name) || isAddress(name)) {
    const { bytes } = await fromUrl(name, scene);
    return { bytes, isFetched: !isDataUrl(name) };
  }
  if (hasScheme(name)) invalidRequest("only http, https and data URLs, and paths in the workspace, are allowed");
  const file = scene.place ? nameWithin(name, scene.place) : name;
  return { bytes: await fromWorkspace(file, scene), isFetched: false, file };
}

function fromUrl(
  url: string,
  { allowedMimes, maxBytes, timeoutMs, outbound, signal }: SourceScene,
): Promise<LoadedMedia> {
  const limits = { allowUrl: true, allowedMimes, maxBytes, maxRedirects: MAX_REDIRECTS, timeoutMs };
  return loadMedia(sourceOfUrl(url), limits, outbound, signal);
}

async function fromWorkspace(file: string, { place, maxBytes, signal }: SourceScene): Promise<Uint8Array> {
  const found = place && (await readWithin(place.root, file, maxBytes));
  signal.throwIfAborted();
  if (!found) return notFound("no such file in the workspace; use a path below it");
  if (found.isCut) invalidRequest(`${found.stats.size} bytes are too many: at most ${maxBytes} are allowed`);
  return found.bytes;
}
