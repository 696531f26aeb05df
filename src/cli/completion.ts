/** Scripts that complete the command in a shell: its commands, their flags and words, and files. Pure. */

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

export interface CompletedCommand {
  readonly name: string;
  /** Without the leading `--`, in order. */
  readonly flags: readonly string[];
  /** Words that may follow the command, such as `stats`. */
  readonly actions: readonly string[];
}

/** Flags with a fixed set of words. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  plan: ['growth', 'scale', 'enterprise'],
  operation: ['enrich', 'verify', 'company', 'reveal'],
  progress: ['auto', 'bar', 'log', 'none'],
  'log-format': ['plain', 'json'],
  'log-level': ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
  'input.format': ['csv', 'tsv', 'jsonl', 'parquet'],
  'output.format': ['csv', 'tsv', 'jsonl', 'parquet'],
};

export function completionScript(shell: Shell, commands: readonly CompletedCommand[]): string {
  switch (shell) {
    case 'bash':
      return bash(commands);
    case 'zsh':
      // zsh runs the completions of bash.
      return `#compdef millrace\nautoload -U +X bashcompinit && bashcompinit\n${bash(commands)}`;
    case 'fish':
      return fish(commands);
    default:
      return shell satisfies never;
  }
}

function bash(commands: readonly CompletedCommand[]): string {
  const flags = (names: readonly string[]): string => names.map((name) => `--${name}`).join(' ');
  return `# Completes millrace. Made by: millrace completion bash
_millrace() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD - 1]}" words=""
  case "$before" in
${Object.entries(WORDS)
  .map(([flag, words]) => `    --${flag}) words="${words.join(' ')}" ;;`)
  .join('\n')}
  esac
  if [ -z "$words" ] && [ "$COMP_CWORD" -eq 1 ]; then
    words="${commands.map(({ name }) => name).join(' ')}"
  elif [ -z "$words" ]; then
    case "\${COMP_WORDS[1]}" in
${commands.map(({ name, flags: names, actions }) => `      ${name}) words="${[...actions, flags(names)].join(' ').trim()}" ;;`).join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  local IFS=$'\\n'
  [ "\${#COMPREPLY[@]}" -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))
}
complete -o filenames -F _millrace millrace
`;
}

function fish(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ name, flags, actions }) => [
    `complete -c millrace -n __fish_use_subcommand -f -a ${name}`,
    ...actions.map((action) => `complete -c millrace -n '__fish_seen_subcommand_from ${name}' -a ${action}`),
    ...flags.map((flag) => {
      const words = WORDS[flag];
      const values = words === undefined ? '' : ` -x -a '${words.join(' ')}'`;
      return `complete -c millrace -n '__fish_seen_subcommand_from ${name}' -l ${flag}${values}`;
    }),
  ]);
  return `# Completes millrace. Made by: millrace completion fish\n${lines.join('\n')}\n`;
}
