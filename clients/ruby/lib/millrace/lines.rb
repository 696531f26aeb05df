# frozen_string_literal: true

module Millrace
  # Lines out of pieces of any length, without their ends.
  class LineReader
    def initialize
      @rest = String.new
    end

    def feed(piece, &block)
      @rest << piece
      lines = []
      *lines, @rest = @rest.split("\n", -1) if piece.include?("\n")
      if @rest.bytesize > Policy::MAX_BYTES
        raise Policy.bad_body("GET", "a line is longer than #{Policy::MAX_BYTES} bytes")
      end

      lines.each(&block)
    end

    # The last line, when it has no end.
    def finish
      yield @rest unless @rest.empty?
    end
  end

  # Events out of an event stream, as the HTML standard reads it (9.2.6).
  class EventReader
    def initialize
      @lines = LineReader.new
      @data = String.new
      @id = nil
    end

    # Yields the id, or nil, and the data of each event.
    def feed(piece, &block)
      @lines.feed(piece) { |line| read(line.chomp("\r"), &block) }
    end

    private

    def read(line)
      name, value = line.split(":", 2)
      value = value.to_s.delete_prefix(" ")
      case name
      when "data" then append(value)
      when "id" then @id = value
      when nil
        data = @data
        @data = String.new
        yield @id, data unless data.empty?
      end
    end

    def append(value)
      if @data.bytesize + value.bytesize > Policy::MAX_BYTES
        raise Policy.bad_body("GET", "an event is longer than #{Policy::MAX_BYTES} bytes")
      end

      @data << value << "\n"
    end
  end

  # Gathers the lines of a batch into parts, and yields each to its block.
  class PartCutter
    MAX_PART = 4 * 1024 * 1024
    MAX_LINE = 64 * 1024 * 1024

    def initialize(&take)
      @take = take
      @part = String.new
    end

    def <<(line)
      line = line.b
      line << "\n" unless line.end_with?("\n")
      finish if @part.bytesize + line.bytesize > MAX_PART
      @part << line
      self
    end

    def finish
      return if @part.empty?

      @take.call(@part)
      @part = String.new
    end

    # One line: a text as it is, anything else as a JSON object.
    def self.to_line(line)
      line.is_a?(String) ? line : JSON.generate(Requests.plain(line.to_h))
    end

    # The lines of a path, or of an open file, which stays open; of CSV its records, some of which have several lines.
    def self.each_line(file, csv, &block)
      return File.open(file, "rb") { |opened| each_line(opened, csv, &block) } unless file.respond_to?(:gets)
      return CSVRecords.new { next_line(file) }.each(&block) if csv

      while (line = next_line(file))
        yield line
      end
    end

    def self.next_line(file)
      line = file.gets("\n", MAX_LINE + 1)&.b
      if line && line.bytesize > MAX_LINE
        raise ArgumentError, "a line is longer than #{MAX_LINE} bytes, which no part can have"
      end

      line && !line.end_with?("\n") ? line << "\n" : line
    end
    private_class_method :next_line
  end

  private_constant :LineReader, :EventReader, :PartCutter
end
