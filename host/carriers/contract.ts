/** The protocol between the gateway and a plugin in another thread or process. */
import type { Audience, Deprecation, EventSpec, Principal, TSchema } from "@svc/sdk";

/** A service token as plain data. */
export interface Token {
  readonly kind: "service";
  readonly id: string;
  readonly version: string;
  readonly remotable?: boolean;
  readonly deprecated?: Deprecation;
}

/** The static part of a plugin, as data. */
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

/** API of the gateway for the guest. `publish`, `forward` and `log` never throw: the guest calls them one-way. */
export interface HostSide {
  call(method: string, params: unknown, principal: Principal | undefined): Promise<unknown>;
  /** @param event name of an event the plugin declared */
  publish(event: string, payload: unknown, audience: Audience | undefined): void;
  forward(event: EventSpec, payload: unknown, connections: readonly string[]): void;
  log(level: "debug" | "info" | "warn" | "error", fields: object, message: string): void;
  /** Reports a failure that no caller awaits. */
  charge(error: unknown, where: string): void;
  /** Stops the plugin and starts it again. */
  restart(reason: string): void;
}

/** Input of one setup. */
export interface SetupParts {
  readonly config: unknown;
  readonly sections: Readonly<Record<string, unknown>>;
  readonly stateDir: string;
  /** By the plugin's names; for live services the current value. */
  readonly services: Readonly<Record<string, unknown>>;
  readonly host: HostSide;
}

/** Result of one setup: its declarations by name of kind. All functions in an entry return promises, even if declared synchronous. */
export type Recorded = Readonly<Record<string, readonly unknown[]>>;

/** Liveness report of an isolated plugin. */
export interface Beat {
  /** Heap and buffers of its thread, or the resident memory of its process. bytes */
  readonly memoryBytes: number;
  readonly busy: boolean;
}

/** API of the guest for the gateway. */
export interface GuestSide {
  describe(): Promise<StaticPart>;
  setup(parts: SetupParts): Promise<Recorded>;
  /** @param live the live services that changed, by name */
  beat(live: Readonly<Record<string, unknown>>): Promise<Beat>;
}

/** Start parameters of a guest. */
export interface GuestTask {
  readonly file: string;
  /** Private directory of compiled code, which the guest executes. */
  readonly cacheDir: string;
  /** Modules of further kinds of declaration. */
  readonly kinds: readonly string[];
}
