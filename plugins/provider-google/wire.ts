/** The parts of the API that this plugin uses. Spec: https://ai.google.dev/api/generate-content, v1beta. */

export interface Part {
  readonly text?: string;
  /** The text is a summary of thoughts. */
  readonly thought?: boolean;
  /** Encrypted thoughts, expected back in the same part. */
  readonly thoughtSignature?: string;
  readonly inlineData?: { readonly mimeType: string; readonly data: string };
  readonly functionCall?: { readonly id?: string; readonly name: string; readonly args?: unknown };
  readonly functionResponse?: { readonly id?: string; readonly name: string; readonly response: object };
}

export interface Content {
  readonly role: "user" | "model";
  readonly parts: readonly Part[];
}

export interface ThinkingConfig {
  readonly includeThoughts?: boolean;
  readonly thinkingLevel?: "minimal" | "low" | "medium" | "high";
  /** Tokens; -1: the model decides; 0: none. */
  readonly thinkingBudget?: number;
}

/** The body of `POST /models/{id}:streamGenerateContent`. */
export interface GenerateRequest {
  readonly contents: readonly Content[];
  readonly systemInstruction?: { readonly parts: readonly Part[] };
  readonly tools?: readonly { readonly functionDeclarations: readonly FunctionDeclaration[] }[];
  readonly toolConfig?: {
    readonly functionCallingConfig: {
      readonly mode: "AUTO" | "ANY" | "NONE";
      readonly allowedFunctionNames?: readonly string[];
    };
  };
  readonly generationConfig?: {
    readonly maxOutputTokens?: number;
    readonly temperature?: number;
    readonly topP?: number;
    readonly frequencyPenalty?: number;
    readonly presencePenalty?: number;
    readonly seed?: number;
    readonly stopSequences?: readonly string[];
    readonly responseMimeType?: string;
    readonly responseSchema?: object;
    readonly thinkingConfig?: ThinkingConfig;
  };
}

export interface FunctionDeclaration {
  readonly name: string;
  readonly description: string;
  readonly parameters?: object;
}

/** One event of the stream. */
export interface GenerateChunk {
  readonly candidates?: readonly {
    readonly content?: { readonly parts?: readonly Part[] };
    readonly finishReason?: string;
    readonly finishMessage?: string;
  }[];
  readonly promptFeedback?: { readonly blockReason?: string; readonly blockReasonMessage?: string };
  readonly usageMetadata?: {
    readonly promptTokenCount?: number;
    readonly cachedContentTokenCount?: number;
    readonly candidatesTokenCount?: number;
    readonly thoughtsTokenCount?: number;
    readonly toolUsePromptTokenCount?: number;
    readonly totalTokenCount?: number;
  };
  /** In place of an answer. */
  readonly error?: unknown;
}
