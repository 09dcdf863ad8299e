import { Argument, type Command } from 'commander';
import { invocation } from '../invocation.ts';
import { completeCommand, completeLine } from '../terminal/complete-line.ts';
import { printLine } from '../terminal/print.ts';
import { explain } from '../usage/help.ts';

/** The scripts by shell. Each asks the hidden command, so that they fit every later version. */
const scripts = {
  bash: `_heddle_complete() {
  local line
  COMPREPLY=()
  # Bash splits words at "=" and ":", and replaces only what is behind the last of them.
  local word="\${COMP_LINE:0:COMP_POINT}"
  word="\${word##*[[:space:]]}"
  local before="\${word%"\${word##*[=:]}"}"
  local words="\${COMP_LINE:0:COMP_POINT}"
  while IFS= read -r line; do
    COMPREPLY+=("\${line#"$before"}")
  done < <(heddle ${completeCommand} --line "$words" 2>/dev/null)
  [[ \${#COMPREPLY[@]} -gt 0 ]] || compopt -o default 2>/dev/null
}
complete -F _heddle_complete heddle
`,
  zsh: `#compdef heddle
_heddle() {
  local -a candidates
  candidates=("\${(@f)$(heddle ${completeCommand} -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  candidates=("\${(@)candidates:#}")
  if (( \${#candidates} )); then
    compadd -- "\${candidates[@]}"
  else
    _files
  fi
}
if [[ "$funcstack[1]" = "_heddle" ]]; then
  _heddle "$@"
else
  compdef _heddle heddle
fi
`,
  fish: `function __heddle_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    heddle ${completeCommand} -- $words[2..-1] (commandline --current-token --cut-at-cursor) 2>/dev/null
end
complete --command heddle --no-files --condition 'test -n "$(__heddle_complete)"' --arguments '(__heddle_complete)'
`,
};

type Shell = keyof typeof scripts;

export function addCompletion(program: Command): void {
  const completion = program
    .command('completion')
    .description('print the script that lets a shell complete commands, options, clients and tools')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(scripts)))
    .action((shell: Shell) => {
      invocation().stdout.write(scripts[shell]);
    });
  explain(completion, {
    examples: [
      "echo 'source <(heddle completion bash)' >> ~/.bashrc",
      'heddle completion zsh > "$HOME/.zsh/completions/_heddle"   # a folder of $fpath',
      'heddle completion fish > ~/.config/fish/completions/heddle.fish',
    ],
    page: 'docs/configuration.md#completion',
  });
}

/** Adds the hidden command that lists what completes a line, one candidate per line. The program has the other commands. */
export function addComplete(program: Command): void {
  program
    .command(completeCommand, { hidden: true })
    .argument('[words...]')
    .option('--line <line>', 'the line up to the cursor, instead of words')
    .action((words: string[], { line }: { line?: string }) => {
      const typed = line === undefined ? words : line.split(/\s+/).slice(1);
      for (const candidate of completeLine(program, typed)) printLine(candidate);
    });
}
