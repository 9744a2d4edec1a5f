/** The views of the panel, in the order of the navigation. Each one is loaded when people open it. */
import type { Scope } from "@svc/sdk";
import {
  BadgeCheck,
  Bot,
  Brain,
  ChartColumn,
  Gauge,
  GraduationCap,
  type IconNode,
  MessageSquare,
  MessagesSquare,
  MonitorSmartphone,
  Puzzle,
  Radio,
  ScrollText,
  Settings,
  WandSparkles,
  Workflow,
} from "lucide";
import type { OpenView } from "../core/app.ts";
import type { Texts } from "../core/text.ts";

/** One entry of the navigation. */
export interface ViewEntry {
  /** Word in the address. */
  readonly id: ViewId;
  readonly group: "talk" | "run" | "system";
  readonly icon: IconNode;
  /** The view is hidden from browsers without this scope. Default `operator.read`. */
  readonly scope?: Scope;
  /** The view is hidden when the gateway has none of these methods: their plugin is not loaded. */
  readonly needs: readonly string[];
  readonly load: () => Promise<{ readonly default: OpenView }>;
}

export type ViewId = keyof Texts["views"];

export const DEFAULT_VIEW: ViewId = "chat";

export const VIEWS: readonly ViewEntry[] = [
  {
    id: "chat",
    group: "talk",
    icon: MessageSquare,
    needs: ["chat.send"],
    load: () => import("./chat/chat.ts"),
  },
  {
    id: "sessions",
    group: "talk",
    icon: MessagesSquare,
    needs: ["sessions.list"],
    load: () => import("./sessions.ts"),
  },
  {
    id: "overview",
    group: "run",
    icon: Gauge,
    needs: [],
    load: () => import("./overview/overview.ts"),
  },
  {
    id: "agents",
    group: "run",
    icon: Bot,
    needs: ["agents.list"],
    load: () => import("./agents/agents.ts"),
  },
  {
    id: "channels",
    group: "run",
    icon: Radio,
    needs: ["channels.status"],
    load: () => import("./channels/channels.ts"),
  },
  {
    id: "automations",
    group: "run",
    icon: Workflow,
    needs: ["cron.list", "webhooks.list"],
    load: () => import("./automations/automations.ts"),
  },
  {
    id: "devices",
    group: "run",
    icon: MonitorSmartphone,
    needs: ["device.pair.list", "node.list"],
    load: () => import("./devices/devices.ts"),
  },
  {
    id: "approvals",
    group: "run",
    icon: BadgeCheck,
    scope: "operator.approvals",
    needs: ["exec.approval.list"],
    load: () => import("./approvals/approvals.ts"),
  },
  {
    id: "skills",
    group: "run",
    icon: GraduationCap,
    needs: ["skills.status"],
    load: () => import("./skills/skills.ts"),
  },
  {
    id: "memory",
    group: "run",
    icon: Brain,
    needs: ["doctor.memory.status"],
    load: () => import("./memory/memory.ts"),
  },
  {
    id: "usage",
    group: "system",
    icon: ChartColumn,
    needs: ["usage.cost"],
    load: () => import("./usage.ts"),
  },
  {
    id: "plugins",
    group: "system",
    icon: Puzzle,
    needs: ["plugins.list"],
    load: () => import("./plugins.ts"),
  },
  {
    id: "logs",
    group: "system",
    icon: ScrollText,
    needs: ["logs.tail"],
    load: () => import("./logs.ts"),
  },
  {
    id: "config",
    group: "system",
    icon: Settings,
    needs: ["config.get"],
    load: () => import("./config/config.ts"),
  },
  {
    id: "setup",
    group: "system",
    icon: WandSparkles,
    scope: "operator.admin",
    needs: ["wizard.start"],
    load: () => import("./setup.ts"),
  },
];
