/** All texts of the panel in English. Texts with values are functions. Other languages have the same keys: `Texts`. */
export const en = {
  common: {
    app: "Control panel",
    loading: "Loading …",
    retry: "Try again",
    next: "Next",
    cancel: "Cancel",
    close: "Close",
    save: "Save",
    delete: "Delete",
    copy: "Copy",
    copied: "Copied",
    notCopied: "The browser does not allow this page to copy",
    search: "Search",
    refresh: "Refresh",
    image: "image",
    more: "More",
    yes: "Yes",
    no: "No",
    none: "None",
    on: "On",
    off: "Off",
  },

  views: {
    chat: "Chat",
    sessions: "Sessions",
    overview: "Overview",
    agents: "Agents",
    channels: "Channels",
    automations: "Automations",
    devices: "Nodes and devices",
    approvals: "Approvals",
    skills: "Skills",
    memory: "Memory",
    usage: "Usage",
    plugins: "Plugins",
    logs: "Logs",
    config: "Configuration",
    setup: "Setup",
  },

  shell: {
    skip: "Skip to content",
    menu: "Menu",
    navigation: "Views",
    talk: "Talk",
    run: "Operate",
    system: "System",
    fromPlugins: "From plugins",
    missingView: "This view does not exist",
    missingViewText: "The plugin that it belongs to may be off, or this browser lacks the rights for it.",
    connected: "Connected",
    reconnecting: "Reconnecting …",
    reconnectingText: "The connection to the gateway is lost. The panel reconnects by itself.",
    version: (version: string) => `svc ${version}`,
    theme: "Appearance",
    themeAuto: "As the system",
    themeLight: "Light",
    themeDark: "Dark",
    language: "Language",
    signOut: "Sign out",
    signOutText:
      "This browser forgets its token. To come back, it needs a link of svc dashboard, or the token of the gateway.",
    settings: "Panel settings",
    waitingApprovals: (count: number) => (count === 1 ? "1 approval waits" : `${count} approvals wait`),
    otherGateway: (url: string) => `Connected to ${url}`,
  },

  signIn: {
    connecting: "Connecting to the gateway …",
    title: "Sign in",
    text: "Open the link that svc dashboard prints on the machine of the gateway. Or enter the token or password of the gateway:",
    label: "Token or password",
    action: "Sign in",
    whereIsIt: "Where is it?",
    whereText: "On the machine of the gateway:",
    link: "signs this browser in with a link that works once",
    token: "prints the token",
    pairingTitle: "This browser waits for an approval",
    pairingText: "Somebody with access to the gateway must approve it once. On the machine of the gateway:",
    pairingOther: "An approved browser can approve it, too: Nodes and devices.",
    pairingDevice: (id: string) => `This browser is device ${id}.`,
    pairingWaits: "The panel continues by itself.",
    insecureTitle: "This address is not safe enough to sign in",
    insecureText:
      "The page was loaded over plain HTTP from another machine. Browsers then offer no cryptography, so the panel cannot prove which browser it is, and anyone on the network could read the token.",
    insecureWays: "Ways out:",
    tunnel: "Use a tunnel. On this machine run the command below, then open http://localhost:18789/",
    https: "Serve HTTPS: run this on the machine of the gateway, then open the address with https://",
    local: "Open the panel in a browser on the machine of the gateway.",
    anyway: "The gateway is configured to allow it",
    oldBrowserTitle: "This browser is too old",
    oldBrowserText:
      "It has no Ed25519 keys, with which the panel proves which browser it is. Use Chrome or Edge 137, Firefox 130, Safari 17, or newer.",
    noStorageTitle: "This browser stores nothing",
    noStorageText:
      "The panel keeps its key in the storage of the browser. Allow storage for this address, or leave the private window.",
    foreignTitle: "Connect to another gateway?",
    foreignText: (url: string) =>
      `The link asks this panel to connect to ${url}. That gateway sees what you type here. Continue only if you trust it and expected this. Your stored tokens stay here.`,
    foreignYes: "Connect to it",
    foreignNo: "Stay with this gateway",
    refusedTitle: "The gateway refuses this page",
    unreachableTitle: "The gateway does not answer",
    unreachableText: "It may be stopped or restarting. The panel tries again by itself.",
    noCheck: "Nothing was sent to it yet.",
  },

  chat: {
    title: "Chat",
  },

  sessions: {
    title: "Sessions",
    none: "No conversation yet",
    noneText: "Conversations appear here as soon as somebody writes to an agent.",
    noMatch: "No session matches the search",
    count: (count: number) => (count === 1 ? "1 session" : `${count} sessions`),
    tokens: (amount: string) => `${amount} tokens`,
    stopped: "stopped",
    label: "Name",
    labelHint: "At most 64 characters. Empty: the title is derived from the conversation.",
    rename: "Rename",
    reset: "Start over",
    open: (title: string) => `Open ${title}`,
    renameOf: (title: string) => `Rename ${title}`,
    resetOf: (title: string) => `Start ${title} over`,
    deleteOf: (title: string) => `Delete ${title}`,
  },

  overview: {
    title: "Overview",
  },

  agents: {
    title: "Agents",
  },

  channels: {
    title: "Channels",
  },

  automations: {
    title: "Automations",
  },

  devices: {
    title: "Nodes and devices",
  },

  approvals: {
    title: "Approvals",
  },

  skills: {
    title: "Skills",
  },

  memory: {
    title: "Memory",
  },

  usage: {
    title: "Usage",
  },

  plugins: {
    title: "Plugins",
  },

  logs: {
    title: "Logs",
  },

  config: {
    title: "Configuration",
  },

  setup: {
    title: "Setup",
  },

  pages: {
    title: "Page of a plugin",
    failed: "The page of the plugin could not be loaded",
    refused: (names: string) => `The page asks for what its plugin does not offer: ${names}`,
  },
};

/** The texts of a language: the same keys as in English. */
export type Texts = typeof en;
