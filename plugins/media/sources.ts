/** What a call names, loaded: files of the agent's workspace, addresses and data URLs. */
import { nameWithin, type Place, readWithin } from "@svc/kit/files";
import { type LoadedMedia, loadMedia, sourceOfUrl } from "@svc/kit/media";
import { GatewayError, invalidRequest, isGatewayError, notFound } from "@svc/sdk";
import { externalLine } from "@svc/sdk/external-content";
import type { OutboundFetch } from "@svc/sdk/web";

/** Choice: as the limits of `/v1/responses` have it. */
const MAX_REDIRECTS = 3;

/** Where things are, and how much is taken. */
export interface SourceScene {
  /** Where the agent's files lie; absent: it has none yet. */
  readonly place: Place | undefined;
  readonly outbound: OutboundFetch | undefined;
  /** Bytes of each. */
  readonly maxBytes: number;
  /** Milliseconds for a fetch. */
  readonly timeoutMs: number;
  /** Of what is fetched and of data URLs, lower case; the bytes decide afterwards. */
  readonly allowedMimes: readonly string[];
  readonly signal: AbortSignal;
}

/** One that was loaded. */
export interface Source {
  /** For people and models: one line. */
  readonly label: string;
  /** It was fetched: somebody else decided what it says. */
  readonly isFetched: boolean;
  /** Its name below the workspace, when it is a file there. */
  readonly file?: string;
  readonly bytes: Uint8Array;
}

/**
 * All of them, one after the other.
 * @throws GatewayError naming the one that could not be loaded: `INVALID_REQUEST`, `NOT_FOUND`, `UNAVAILABLE`
 */
export async function loadSources(names: readonly string[], scene: SourceScene): Promise<readonly Source[]> {
  const sources: Source[] = [];
  for (const [index, name] of names.entries()) {
    const label = labelOf(name, index + 1);
    sources.push({ label, ...(await naming(label, () => load(name, scene))) });
  }
  return sources;
}

/** Characters of a name that are told. */
const MAX_LABEL = 200;

function labelOf(name: string, number: number): string {
  return isDataUrl(name) ? `data URL ${number}` : externalLine(name, MAX_LABEL);
}

/** Runs `work`, whose refusals then say which source they are about. */
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
/** Whether it is fetched. */
export const isAddress = (name: string) => /^https?:/i.test(name);
const hasScheme = (name: string) => /^[a-z][a-z0-9+.-]*:/i.test(name);

async function load(name: string, scene: SourceScene): Promise<Omit<Source, "label">> {
  if (isDataUrl(name) || isAddress(name)) {
    const { bytes } = await fromUrl(name, scene);
    return { bytes, isFetched: !isDataUrl(name) };
  }
  if (hasScheme(name)) invalidRequest("only http, https and data URLs are taken, and paths below the workspace");
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
  if (!found) return notFound("there is no such file in the workspace; give a path below it");
  if (found.isCut) invalidRequest(`${found.stats.size} bytes are too many: at most ${maxBytes} are taken`);
  return found.bytes;
}
