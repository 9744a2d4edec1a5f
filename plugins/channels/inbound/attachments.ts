/** Files of a message for the agent: downloaded once, kept on disk, and turned into what models read. */
import { MAX_ATTACHMENT_BYTES } from "@svc/kit/media";
import { AnySignal, megabytes } from "@svc/kit/time";
import { type Clock, ERRORS, invalidRequest, isGatewayError, type Live, type Logger, messageOf, pause } from "@svc/sdk";
import type { InboundMedia, OutboundMedia } from "@svc/sdk/channels";
import { externalLine, wrapExternalContent } from "@svc/sdk/external-content";
import type { AgentDirectory } from "@svc/sdk/agents";
import type { DocumentLimits, Documents, MediaPlace, Transcription, VideoFrames } from "@svc/sdk/media";
import type { ImageBlock } from "@svc/sdk/models";
import type { ChannelAccounts } from "../accounts/channel-accounts.ts";
import { secretsOf, toldError } from "../accounts/hidden.ts";
import { pauseMs } from "../accounts/pauses.ts";
import { type MediaStore, receivedId } from "../media-store.ts";
import { download } from "./download.ts";
import type { AcceptedMessage } from "./inbound-store.ts";

/** Default maximum bytes of a received file. */
export const MAX_MEDIA_BYTES = 20_000_000;
/** Choice: attempts to download a file before the agent is told that it could not be downloaded. */
const MAX_ATTEMPTS = 4;
/** Choice: milliseconds in which all files of a message are downloaded and read; later messages of the session wait for them. */
const ALL_FILES_MS = 120_000;
/** Choice: pictures of one message, and their characters in base64, that a model gets. */
const MAX_IMAGES = 8;
const MAX_IMAGE_CHARS = 27_000_000;
const MAX_NAME_CHARS = 120;
/** Choice: limits of documents in a message. */
const LIMITS: DocumentLimits = {
  maxChars: 100_000,
  pdf: { maxPages: 20, maxPixels: 4_000_000, minTextChars: 200 },
};

export interface AttachmentSources {
  readonly accounts: Pick<ChannelAccounts, "channel" | "account" | "call">;
  readonly store: Pick<MediaStore, "find" | "add">;
  readonly documents: Live<Documents>;
  readonly transcription: Live<Transcription>;
  readonly frames: Live<VideoFrames>;
  readonly agents: Live<AgentDirectory>;
  readonly clock: Clock;
  readonly log: Pick<Logger, "info">;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** The files of a message. */
export interface Attached {
  readonly images: readonly ImageBlock[];
  /** One paragraph for each file. */
  readonly notes: readonly string[];
}

/**
 * Reads the files of a message. A file that cannot be read becomes a note with the reason.
 * @throws the reason of the signal; errors of storage
 */
export async function attachmentsOf(message: AcceptedMessage, sources: AttachmentSources): Promise<Attached> {
  const { clock, signal } = sources;
  const images: ImageBlock[] = [];
  const notes: string[] = [];
  const inTime = new AnySignal(signal);
  const cancel = clock.setTimeout(() => inTime.abort(), ALL_FILES_MS);
  try {
    for (const [index, media] of (message.job.media ?? []).entries()) {
      const label =
        `${media.isVoice === true ? "voice message" : media.kind} ${externalLine(media.name ?? "", MAX_NAME_CHARS)}`.trim();
      const read = await noteOf(message, media, { index, label }, { ...sources, signal: inTime.signal }).catch(
        (error: unknown): Note => {
          signal.throwIfAborted();
          if (!inTime.signal.aborted) throw error;
          return {
            note: `[${label}: not available: the files of the message took more than ${ALL_FILES_MS / 1_000} s]`,
          };
        },
      );
      const shown = fitting(read.images ?? [], images);
      images.push(...shown);
      const left = (read.images ?? []).length - shown.length;
      notes.push(left === 0 ? read.note : `${read.note}\n[${left} pictures are left out: the message has too many]`);
    }
    return { images, notes };
  } finally {
    cancel();
    inTime.release();
  }
}

/** What models read of a file. */
interface Note {
  readonly images?: readonly ImageBlock[];
  readonly note: string;
}

/** @throws the reason of the signal; errors of storage */
async function noteOf(
  message: AcceptedMessage,
  media: InboundMedia,
  { index, label }: { readonly index: number; readonly label: string },
  sources: AttachmentSources,
): Promise<Note> {
  const found = await fileOf(message, media, index, sources);
  if (typeof found === "string") return { note: `[${label}: not available: ${found}]` };
  return readFile(found, message, label, sources);
}

/** The first of the pictures for which there is room beside those that the model gets already. */
function fitting(images: readonly ImageBlock[], taken: readonly ImageBlock[]): readonly ImageBlock[] {
  const fits = images.slice(0, MAX_IMAGES - taken.length);
  let room = MAX_IMAGE_CHARS - taken.reduce((sum, { data }) => sum + data.length, 0);
  const over = fits.findIndex(({ data }) => (room -= data.length) < 0);
  return over < 0 ? fits : fits.slice(0, over);
}

/** The stored or downloaded file; a sentence if it cannot be had. */
async function fileOf(
  message: AcceptedMessage,
  media: InboundMedia,
  index: number,
  sources: AttachmentSources,
): Promise<OutboundMedia | string> {
  const { store, clock, log, random, signal } = sources;
  const id = receivedId(message.key, index);
  const known = await store.find(id);
  if (known) return known;
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    try {
      const file = await fetchFile(message, media, sources);
      await store.add(id, file, clock.now());
      return file;
    } catch (error) {
      signal.throwIfAborted();
      const mayPass = isGatewayError(error) ? ERRORS[error.code].retry : true;
      const reason = toldError(error, secretsOf(accountOf(message, sources)?.account.settings));
      log.info({ channel: message.channel, attempt, reason }, "a file of a message could not be downloaded");
      if (!mayPass || attempt >= MAX_ATTEMPTS) return reason;
      await pause(pauseMs(attempt, random()), clock, signal);
    }
  }
}

function accountOf({ channel, accountId }: AcceptedMessage, { accounts }: AttachmentSources) {
  const contribution = accounts.channel(channel);
  return contribution && accounts.account(contribution, accountId);
}

async function fetchFile(message: AcceptedMessage, media: InboundMedia, sources: AttachmentSources) {
  const { accounts, agents, signal } = sources;
  const listed = accountOf(message, sources);
  if (!listed?.contribution.value.media) throw new Error(`channel ${message.channel} does not provide files now`);
  const { mediaMaxMb } = agents.get()?.media ?? {};
  const usual = mediaMaxMb === undefined ? MAX_MEDIA_BYTES : Math.round(mediaMaxMb * 1_000_000);
  const { id: accountId, settings, maxMediaBytes = usual } = listed.account;
  if ((media.size ?? 0) > maxMediaBytes)
    invalidRequest(`it has ${megabytes(media.size ?? 0)}, at most ${megabytes(maxMediaBytes)} are accepted`);
  const source = await accounts.call(listed.contribution, async (channel) =>
    channel.media?.({ accountId, settings, ref: media.ref, maxBytes: maxMediaBytes, signal }),
  );
  if (!source) throw new Error("the channel did not name an address");
  const { bytes, mimeType } = "bytes" in source ? source : await download(source, maxMediaBytes, signal);
  if (bytes.byteLength > maxMediaBytes) invalidRequest(`it is larger than ${megabytes(maxMediaBytes)}`);
  const type = media.mimeType?.split(";", 1)[0]?.trim().toLowerCase() || mimeType || "application/octet-stream";
  return {
    kind: media.kind,
    name: externalLine(media.name ?? media.kind, MAX_NAME_CHARS) || media.kind,
    mimeType: type,
    bytes,
    ...(media.isVoice === true ? { isVoice: true } : {}),
  };
}

/** Never rejects, except for the signal. */
async function readFile(
  file: OutboundMedia,
  message: AcceptedMessage,
  label: string,
  sources: AttachmentSources,
): Promise<Note> {
  const { documents, transcription, signal } = sources;
  const { job } = message;
  const head = `${label}, ${megabytes(file.bytes.byteLength)}`;
  const reader = documents.get();
  try {
    if (file.kind === "image") {
      if (file.bytes.byteLength > MAX_ATTACHMENT_BYTES)
        return { note: `[${head}: not shown: models accept at most ${megabytes(MAX_ATTACHMENT_BYTES)}]` };
      if (!reader) return { note: `[${head}: not shown: the plugin media does not run]` };
      return { images: [await reader.image(file.bytes)], note: `[${head}]` };
    }
    if (file.kind === "audio") {
      const speech = transcription.get();
      if (!speech) return { note: `[${head}: no plugin provides the transcription of speech]` };
      const { text } = await speech.transcribe(file, signal, placeOf(message));
      if (text === "") return { note: `[${head}: no words were recognized]` };
      const isOwnVoice =
        file.isVoice === true && job.isForwarded !== true && job.principal.scopes.includes("operator.write");
      return { note: isOwnVoice ? `[${head}] ${text}` : `[${head}]\n${wrapped(text, label)}` };
    }
    if (file.kind === "video") return await readVideo(file, message, { head, label }, sources);
    if (!reader) return { note: `[${head}: its content cannot be read]` };
    const { text, images, isCut } = await reader.read({ bytes: file.bytes, mimeType: file.mimeType }, LIMITS, signal);
    return { images, note: `[${head}${isCut ? ", cut" : ""}]\n${wrapped(text, label)}` };
  } catch (error) {
    signal.throwIfAborted();
    return { note: `[${head}: its content cannot be read: ${messageOf(error)}]` };
  }
}

/** A video as pictures, and the text of its sound. */
async function readVideo(
  file: OutboundMedia,
  message: AcceptedMessage,
  { head, label }: { readonly head: string; readonly label: string },
  { frames, transcription, signal }: AttachmentSources,
): Promise<Note> {
  const [viewer, speech] = [frames.get(), transcription.get()];
  if (!viewer) return { note: `[${head}: its content cannot be read: the plugin media does not run]` };
  const place = placeOf(message);
  const { images, seconds, hasSound } = await viewer.keyFrames(file, { max: MAX_IMAGES }, signal, place);
  const length = seconds === undefined ? "" : `, ${Math.round(seconds)} s`;
  const shown = `[${head}${length}: ${images.length} pictures of it]`;
  if (!hasSound || !speech) return { images, note: shown };
  try {
    const { text } = await speech.transcribe(file, signal, place);
    return { images, note: text === "" ? shown : `${shown}\n[its sound]\n${wrapped(text, label)}` };
  } catch (error) {
    signal.throwIfAborted();
    return { images, note: `${shown}\n[its sound cannot be read: ${messageOf(error)}]` };
  }
}

function placeOf({ sessionKey, channel, job: { chatType } }: AcceptedMessage): MediaPlace {
  return { sessionKey, channel, chatType };
}

function wrapped(text: string, label: string): string {
  return wrapExternalContent(text, { source: "external", from: label });
}
