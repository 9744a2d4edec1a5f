/** What the gateway and a plugin that runs elsewhere say to each other. */
import type { Audience, Deprecation, EventSpec, Principal, TSchema } from "@svc/sdk";

/** A token without its type. */
export interface Token {
  readonly kind: "service";
  readonly id: string;
  readonly version: string;
  readonly remotable?: boolean;
  readonly deprecated?: Deprecation;
}

/** What a plugin is before its setup. */
export interface StaticPart {
  readonly id: string;
  readonly api: string;
  readonly version?: string;
  readonly config?: TSchema;
  readonly section?: string;
  readonly sections?: Readonly<Record<string, TSchema>>;
  readonly requires: Readonly<
    Record<string, { readonly kind: "service" | "optional" | "live"; readonly token: Token }>
  >;
  readonly provides: readonly Token[];
  readonly after: readonly string[];
}

/** The gateway, as the guest reaches it. `publish`, `forward` and `log` never throw: the guest waits for no answer. */
export interface HostSide {
  call(method: string, params: unknown, principal: Principal | undefined): Promise<unknown>;
  /** @param event name of one it declared */
  publish(event: string, payload: unknown, audience: Audience | undefined): void;
  forward(event: EventSpec, payload: unknown, connections: readonly string[]): void;
  log(level: "debug" | "info" | "warn" | "error", fields: object, message: string): void;
  /** A failure of code nobody awaited. */
  charge(error: unknown, where: string): void;
}

/** What one setup gets. */
export interface SetupParts {
  readonly config: unknown;
  readonly sections: Readonly<Record<string, unknown>>;
  readonly stateDir: string;
  /** By the name the plugin uses; a live one is what it is now. */
  readonly services: Readonly<Record<string, unknown>>;
  readonly host: HostSide;
}

/** What one setup declared, by the names of kinds. Functions of an entry return promises, whatever they were declared as. */
export type Recorded = Readonly<Record<string, readonly unknown[]>>;

/** Sign of life of an isolated plugin. */
export interface Beat {
  /** Heap and buffers of its thread, or the resident memory of its process. bytes */
  readonly memoryBytes: number;
  readonly busy: boolean;
}

/** The guest, as the gateway reaches it. */
export interface GuestSide {
  describe(): Promise<StaticPart>;
  setup(parts: SetupParts): Promise<Recorded>;
  /** @param live services that are others now than they were, by name */
  beat(live: Readonly<Record<string, unknown>>): Promise<Beat>;
}

/** What a guest is started with. */
export interface GuestTask {
  readonly file: string;
  /** Private: what lies there is run. */
  readonly cacheDir: string;
  /** Modules of further kinds of declaration. */
  readonly kinds: readonly string[];
}
