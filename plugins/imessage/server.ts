/** What connects the gateway to Messages on a Mac: implemented by `bluebubbles.ts` and `imsg.ts`. */
import type { Channel, MediaBytes, MediaRequest } from "@svc/sdk/channels";
import type { Settings } from "./config.ts";
import type { Received } from "./translate.ts";

/** `privateApi`: tapbacks, edits, answers and typing are possible. */
export interface Identity {
  readonly name: string;
  readonly privateApi: boolean;
}

export interface Feed {
  /** Row of the Messages database that the gateway has; later ones are delivered. */
  readonly row: number;
  /** Row of the first run: older ones are never delivered. */
  readonly first: number;
  readonly signal: AbortSignal;
  /** Waits until `wake` is called, at most `ms`. @throws the reason of the signal */
  nap(ms: number): Promise<void>;
  wake(): void;
  /** Called once for a message that cannot be read. */
  malformed(message: unknown): void;
}

export interface Server extends Required<Pick<Channel<Settings>, "send" | "edit" | "react" | "typing">> {
  /** @throws GatewayError `NOT_LINKED`: the login is refused */
  identify(signal: AbortSignal): Promise<Identity>;
  /** The newest row of the Messages database. */
  newest(signal: AbortSignal): Promise<number>;
  /** Whether the Messages database reaches this row: another database may be shorter. Absent: the server cannot tell. */
  reaches?(row: number, signal: AbortSignal): Promise<boolean>;
  /**
   * Batches of messages in the order of their rows; an empty one proves that the connection works. The next batch is asked for
   * when the gateway has the last one. Messages may repeat.
   */
  feed(feed: Feed): AsyncIterable<readonly Received[]>;
  /** A message by its id. Absent: the server cannot look it up. */
  find?(guid: string, signal: AbortSignal): Promise<Received | undefined>;
  /** Marks the chat as read. */
  read?(chatGuid: string): Promise<void>;
  file(request: MediaRequest<Settings>): Promise<MediaBytes>;
  close(): Promise<void>;
}
