/** Texts on the socket of a visitor: JSON objects. README.md describes them for clients other than the widget. */
import type { MessageButton, Receipt } from "@svc/sdk/channels";
import { type Static, Strict, Type } from "@svc/sdk";

/** Maximum bytes of a text of a client. */
export const MAX_FRAME_BYTES = 16_384;
/** Maximum characters of a message, in both directions. */
export const MAX_TEXT_CHARS = 8_000;
/** Bytes of a file in one text: a socket is closed when its client leaves 1 MiB unread. */
export const FILE_PART_BYTES = 196_608;

/** Chosen by the client, different for each message: a repetition has the same one. */
const ClientId = Type.String({ pattern: "^[A-Za-z0-9_-]{8,64}$" });
const MessageId = Type.String({ minLength: 1, maxLength: 80 });

export const ClientFrame = Type.Union([
  Strict({ type: Type.Literal("hello"), token: Type.Optional(Type.String({ maxLength: 200 })) }),
  Strict({
    type: Type.Literal("send"),
    id: ClientId,
    text: Type.String({ minLength: 1, maxLength: MAX_TEXT_CHARS }),
  }),
  Strict({ type: Type.Literal("press"), id: ClientId, messageId: MessageId, value: Type.String({ maxLength: 60 }) }),
  Strict({ type: Type.Literal("file"), messageId: MessageId, offset: Type.Integer({ minimum: 0 }) }),
]);
export type ClientFrame = Static<typeof ClientFrame>;

export type Buttons = readonly (readonly MessageButton[])[];

/** A message as the visitor sees it. */
export interface ShownMessage {
  readonly id: string;
  readonly from: "visitor" | "agent";
  /** Markdown of the agent, plain text of the visitor. */
  readonly text: string;
  /** epoch ms */
  readonly at: number;
  readonly buttons?: Buttons;
  /** Its bytes are requested with `file`. */
  readonly file?: { readonly name: string; readonly mimeType: string; readonly size: number };
}

/**
 * `rate`: too many messages or new visitors. `tabs`: the visitor has too many sockets. `hello`: the first text was another
 * one. `gone`: the message, the button or the file does not exist. The others are those of the gateway.
 */
export type RefusalReason =
  | "rate"
  | "tabs"
  | "hello"
  | "gone"
  | "invalid"
  | Extract<Receipt, { accepted: false }>["reason"];

export interface RefusedFrame {
  readonly type: "refused";
  /** Of the refused `send` or `press`; `messageId` of the refused `file`. */
  readonly id?: string;
  readonly reason: RefusalReason;
  readonly retryAfterMs?: number;
}

export type ServerFrame =
  | {
      readonly type: "welcome";
      readonly visitor: string;
      /** Only for a new visitor. */
      readonly token?: string;
      readonly greeting?: string;
      readonly messages: readonly ShownMessage[];
    }
  | { readonly type: "accepted"; readonly id: string; readonly messageId: string }
  | RefusedFrame
  | ({ readonly type: "message" } & ShownMessage)
  | { readonly type: "edit"; readonly messageId: string; readonly text: string; readonly buttons?: Buttons }
  | { readonly type: "typing" }
  | {
      readonly type: "file";
      readonly messageId: string;
      readonly offset: number;
      /** base64 */
      readonly data: string;
      readonly isLast: boolean;
    };
