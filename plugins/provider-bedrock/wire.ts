/** The parts of the API that this plugin uses. Spec: Amazon Bedrock Runtime, ConverseStream. */

export interface Block {
  readonly text?: string;
  readonly image?: { readonly format: string; readonly source: { readonly bytes: string } };
  readonly toolUse?: { readonly toolUseId: string; readonly name: string; readonly input: unknown };
  readonly toolResult?: {
    readonly toolUseId: string;
    readonly content: readonly Block[];
    readonly status?: "success" | "error";
  };
  readonly reasoningContent?:
    | { readonly reasoningText: { readonly text: string; readonly signature?: string } }
    | { readonly redactedContent: string };
  readonly cachePoint?: { readonly type: "default" };
}

export interface Message {
  readonly role: "user" | "assistant";
  readonly content: readonly Block[];
}

export interface Tool {
  readonly toolSpec?: {
    readonly name: string;
    readonly description?: string;
    readonly inputSchema: { readonly json: object };
  };
  readonly cachePoint?: { readonly type: "default" };
}

/** The body of `POST /model/{id}/converse-stream`. */
export interface ConverseRequest {
  readonly messages: readonly Message[];
  readonly system?: readonly Block[];
  readonly inferenceConfig?: {
    readonly maxTokens?: number;
    readonly temperature?: number;
    readonly topP?: number;
    readonly stopSequences?: readonly string[];
  };
  readonly toolConfig?: {
    readonly tools: readonly Tool[];
    readonly toolChoice?: { readonly any: object } | { readonly tool: { readonly name: string } };
  };
  readonly additionalModelRequestFields?: object;
}

export interface Delta {
  readonly text?: string;
  readonly toolUse?: { readonly input?: string };
  readonly reasoningContent?: {
    readonly text?: string;
    readonly signature?: string;
    readonly redactedContent?: string;
  };
}

/** One event: its name, with the fields of all events. */
export interface ConverseEvent {
  readonly name: string;
  readonly contentBlockIndex?: number;
  readonly start?: { readonly toolUse?: { readonly toolUseId: string; readonly name: string } };
  readonly delta?: Delta;
  readonly stopReason?: string;
  readonly usage?: {
    readonly inputTokens?: number;
    readonly outputTokens?: number;
    readonly totalTokens?: number;
    readonly cacheReadInputTokens?: number;
    readonly cacheWriteInputTokens?: number;
  };
}
